module hop

go 1.26
