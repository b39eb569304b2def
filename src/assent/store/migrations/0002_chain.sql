-- Every event carries a hash over itself and the hash before it; what is there gets one, too.
ALTER TABLE events ADD COLUMN chain BLOB NOT NULL DEFAULT x'';
