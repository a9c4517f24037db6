"""What data must be before a job may train on it: contracts, their checker and migrations."""
