"""The Ascend device: programs compiled by MindSpore, for Ascend or for its CPU target."""
