"""The sandbox: runs programs that can see, change and reach only what their profile allows."""
