-- works with: 9
SELECT 1;
