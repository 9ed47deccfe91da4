# Is the product set up? The wheel is unpacked, and what is in it starts.
set -eu
cd product
python3 -m gate --version
