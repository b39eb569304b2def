"""The question block: shows open questions below the conversation and takes the answers."""
