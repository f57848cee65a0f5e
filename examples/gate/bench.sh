# Stands for your benchmark: prints the milliseconds of one run. They are made up from KABC_SEED, a new random number
# for each run, so that everybody sees the same ones.
case "$1" in
    slow) work=1080 ;;
    *) work=1000 ;;
esac
echo $((work + KABC_SEED % 100 + KABC_SEED / 100 % 100 + KABC_SEED / 10000 % 100))
