//! File name -> ConfigMap key.
