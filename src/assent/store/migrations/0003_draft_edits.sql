-- Drafts may be edited by `draft_edited`. A program that does not know it would take the draft from
-- a head as it was last stored whole, so it must not open the log: this step only counts.
SELECT 1;
