"""Program runners: in bubblewrap or without a sandbox, always limited and always stopped."""
