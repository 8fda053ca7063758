"""Work that is kept: files written whole, shared results, resumable stores."""
