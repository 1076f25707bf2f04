//! Details of a Deployment, beside the picture or as a page of their own.
