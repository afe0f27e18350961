"""Reports as text and JSON; nothing here touches a file or a terminal."""
