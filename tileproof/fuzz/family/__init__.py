"""What campaigns know of each family; every module here is one."""
