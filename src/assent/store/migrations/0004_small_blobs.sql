-- Small contents may be in `blobs/small`. A program that does not know that file would miss them,
-- and a collection of it could remove what they name, so it must not open the log: this step only
-- counts.
SELECT 1;
