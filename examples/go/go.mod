module seqloom.example/score

go 1.19
