"""Plans: operations, drafts, digested plans, approvals, bundles, and the lifecycle of a plan."""
