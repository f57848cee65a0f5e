"""What people look at: data apart from drawing."""
