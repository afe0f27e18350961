"""Reports as text, JSON, Markdown and JUnit; nothing here touches a file or a terminal."""
