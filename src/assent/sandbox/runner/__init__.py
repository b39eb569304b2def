"""Running programs: confined by bubblewrap, or plain, always limited and always ended."""
