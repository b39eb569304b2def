"""The question panel: shows open questions and takes the answers."""
