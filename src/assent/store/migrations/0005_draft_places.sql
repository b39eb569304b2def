-- Edits of drafts may say where operations stand, and count commands that stay last. A program that
-- does not know that would put them elsewhere, so it must not open the log: this step only counts.
SELECT 1;
