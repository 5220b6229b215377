//! Live engines read what is written here, and write what is read here.
