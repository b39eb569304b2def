"""Where programs write that are told by an option or an operand: gate and review say it (F80)."""

import pytest

from assent.core.permission.rule import PermissionPolicy
from assent.core.plan.operation import RunCommand
from assent.core.tool import Action, ResourceAccess
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.commands.program_spec import FileUse
from assent.permissions.commands.programs import PROGRAMS
from assent.permissions.gate import RuleGate
from assent.permissions.operation_risks import RiskInput, operation_risks

ROOT, HOME = "/srv/app", "/home/ada"
SURE, MAYBE = "It writes outside the workspace.", "It may write outside the workspace."


def away(text: str) -> str:
    """Says whether a line leaves the workspace: surely, perhaps, or not; both judges must agree."""
    line = classify_command_line(text, root=ROOT, home=HOME)
    gate = RuleGate(PermissionPolicy((), ROOT, HOME), lambda _: line)
    level, reasons = gate.risk([ResourceAccess(Action.SHELL, text)])
    op = RunCommand(script=text.encode())
    codes = operation_risks(op, RiskInput(line=line, root=ROOT))
    told = [word for word, reason in (("sure", SURE), ("maybe", MAYBE)) if reason in reasons]
    assert bool(told) == ("writes_outside" in codes), (text, reasons, codes)
    assert not told or level == "high"
    return "".join(told)


# One line for each form; `@` is the target. With one outside it is a write there, with one inside
# it is not.
NAMED = """
tar cf @ .
tar czvf @ src
tar -cf @ .
tar -czf@ .
tar -c -z -f @ .
tar --create --file=@ .
tar --create --file @ .
tar --cre --fil=@ .
tar cfC @ sub .
tar cCf sub @ .
tar rf @ x
tar uf @ x
tar --delete -f @ x
bsdtar -cf @ .
zip @ x
zip -r @ x
zip -q -r9 @ x
zip -n .png:.gif @ x
zip -P secret @ x
zip a x --out @
zip a x -O @
zip -- @ x
7z a @ x
7z a -tzip -mx=9 @ x
7za u @ x
rar a @ x
ar rcs @ x.o
ar -rcs @ x.o
ar ra x.o @ y.o
ranlib @
jar cf @ x
jar --create --file=@ x
gzip @
gzip -9k @
gunzip @
bzip2 -- @
xz -T 4 @
zstd @
zstd x -o @
zstd -qo @ x
lz4 x @
cpio -pd @
mksquashfs src @
go build -o @
go build -o=@ ./cmd
go build --o=@ ./cmd
go -C sub build -o @
go test -coverprofile=@ ./...
go test -c -o @ ./x
gcc -o @ a.c
gcc -o@ a.c
gcc a.c -O2 -o @
gcc --output=@ a.c
gcc -MD -MF @ a.c
clang++ a.cc -o @
gcc-12 -o @ a.c
rustc a.rs -o @
ld -o @ a.o
dot -Tpng -o @ a.dot
dot -Tpng -o@ a.dot
protoc --descriptor_set_out=@ a.proto
git worktree add @
git worktree add -b topic @
git worktree add -B topic @ main
git worktree add --detach @
git -c a.b=c worktree add @
git -C sub worktree add @
git worktree move old @
git worktree remove @
git worktree remove --force @
git clone https://x/y @
git clone --depth 1 -b main https://x/y @
git clone --depth=1 -o up https://x/y @
git clone -- https://x/y @
git init @
git init -b main @
git init --bare @
git bundle create @ HEAD
git bundle create -q @ HEAD
git archive -o @ HEAD
git archive -o@ HEAD
git archive --output=@ HEAD
git archive --format tar --output @ HEAD
git diff --output=@
git log -p --output @
git config -f @ a.b c
git config --file=@ a.b c
git submodule add https://x/y @
git fast-export --export-marks=@ HEAD
git pack-objects @
gh repo clone x/y @
svn checkout https://x @
hg clone https://x @
curl -o @ https://x
curl -o@ https://x
curl -sSLo @ https://x
curl -sSLo@ https://x
curl --output=@ https://x
curl --outp=@ https://x
curl -D @ https://x
curl -c @ https://x
wget -O @ https://x
wget -qO @ https://x
wget -qO@ https://x
wget -o @ https://x
wget --output-doc=@ https://x
aria2c -o @ https://x
rsync --log-file=@ a b
ssh-keygen -t ed25519 -f @ -N pass
ssh-keygen -f@ -t rsa
openssl genrsa -out @ 2048
openssl req -x509 -keyout @ -out c.pem
gpg -o @ -d a.gpg
gpg --output @ -d a.gpg
cp a @
cp -- a @
mv a @
ln -s a @
install -m 755 a @
dd if=a of=@
dd of=@ if=a
tee @
tee -a @
touch @
mkdir -p @
mkfifo @
mkfifo -m 600 @
mknod @ p
mktemp @
truncate -s 0 @
shred @
sponge @
sed -i s/a/b/ @
sort -o @ a
sort -uo @ a
sort -uo@ a
sort --output=@ a
sort --out=@ a
sort -k 2 -o @ a
uniq a @
uniq -c -f 1 a @
xxd a @
xxd -r -p -l 16 a @
split -l 10 a @
split --bytes 1M a @
csplit -f @ a /x/
csplit --prefix=@ a /x/
iconv -f utf8 -o @ a
patch @ a.patch
patch -p1 -o @ a
objcopy a @
convert a.png -resize 50% @
magick a.png @
ffmpeg -i a.mp4 -c copy @
pandoc a.md -o @
pandoc a.md --output=@
pdftotext -f 1 a.pdf @
sqlite3 @ .dump
sqlite3 -cmd .x @ 'select 1'
pg_dump -f @ db
psql -o @ db
pytest --junitxml=@
coverage html -d x -o @
strace -o @ ls
docker cp a:/x @
docker save -o @ img
kubectl cp pod:/x @
aws s3 cp s3://x @
find . -fprint @
cargo new @
cargo +nightly new --name x @
cargo vendor @
uv venv @
virtualenv -p python3 @
python3 -m venv @
python3.12 -m venv --clear @
python3 -m zipfile -c @ x
python3 -m tarfile -e a.tar @
npm init vite @
composer create-project a/b @
debootstrap stable @
tesseract a.png @
"""
FOLDERS = """
tar xf a -C @
tar xfC a @
tar -xzf a.tgz -C@
tar -xC @ -f a
tar xf a --directory=@
tar xf a --direc @
tar xf a --one-top-level=@
unzip a.zip -d @
unzip -qod @ a.zip
unzip a.zip -d@
7z x a.7z -o@
git -C @ commit -m x
git -C @ add .
git -C @ merge main
git --git-dir=@ --work-tree=. commit -m x
git --work-tree @ checkout .
git clone --separate-git-dir=@ https://x
git format-patch -o @ HEAD~1
git checkout-index -a --prefix=@
git apply --directory=@ a.patch
cp -t @ a
cp -t@ a
cp -rt @ a
cp --target-directory @ a
cp --target=@ a
ln -st @ a
install -Dt @ a
mv -vt @ a
make -C @
make -sC @
make -j4 -C@
make --directory=@ all
make --direc=@ all
make DESTDIR=@ install
make all O=@
make PREFIX=@ install
ninja -C @
cmake -S . -B @
cmake -B@
cmake --build @
cmake --install build --prefix @
meson setup @
cargo build --target-dir @
cargo build --target-dir=@
cargo +nightly build --target-dir @
cargo -C @ build
cargo build --manifest-path @
cargo install --root @ x
rustc a.rs --out-dir @
go -C @ build
javac -d @ A.java
protoc --python_out=@ a.proto
pip install -t @ x
pip install --target=@ x
pip install --targ=@ x
pip install --prefix @ x
pip install --root @ x
pip download -d @ x
pip wheel -w @ x
pip3.12 install --target @ x
python3 -m pip install --target @ x
npm --prefix @ install
npm install --prefix=@ x
npm pack --pack-destination @
pnpm -C @ install
yarn --cwd @ install
uv --directory @ sync
poetry -C @ install
composer -d @ install
bundle install --path @
gem install -i @ x
conda create -p @ x
wget -P @ https://x
wget -qP @ https://x
curl --output-dir @ -O https://x
rsync -a a/ @
rsync -a --backup-dir=@ a b
scp host:x @
gradle -p @ build
mvn -f @ package
just -d @ build
tsc --outDir @
esbuild a.js --outfile=@
babel src -d @
hugo -d @
pytest --basetemp=@
pytest -o cache_dir=@
mypy --cache-dir=@ src
ruff format @
ruff check --fix @
black @
prettier --write @
eslint --fix @
gofmt -w @
rustfmt @
clang-format -i @
dos2unix @
strip @
terraform -chdir=@ apply
patch -d @ -p1
chmod +x @
rm -r @
soffice --convert-to pdf --outdir @ a.odt
ffmpeg -i a.mp4 @ -loglevel error
sometool --output @ x
sometool --output=@ x
./build.sh -o @
python3 tool.py --out-dir @
"""
OUTSIDE = ("../a", "/opt/a", "'../a b'", '"../"a', "sub/../../a", "~/a", "/srv/application/a")


def rows(text: str) -> list[str]:
    return [line for line in text.split("\n") if line]


@pytest.mark.parametrize("form", rows(NAMED))
def test_a_file_outside_that_a_program_is_told_to_write_is_a_write_there(form: str) -> None:
    for target in OUTSIDE:
        assert away(form.replace("@", target)), target
    found = classify_command_line(form.replace("@", "../a"), root=ROOT)
    assert "../a" in found.writes
    assert away(f"LANG=C nice -n 5 {form.replace('@', '../a')}")
    assert away(f"make && ( {form.replace('@', '/opt/a')} )")
    assert away(f'bash -c "{form.replace("@", "../a")}"')


@pytest.mark.parametrize("form", rows(FOLDERS))
def test_a_folder_outside_that_a_program_is_told_to_write_to_may_be_written(form: str) -> None:
    for target in OUTSIDE:
        assert away(form.replace("@", target)), target
    assert away(f"LANG=C nice -n 5 {form.replace('@', '../a')}")
    assert away(f'bash -c "{form.replace("@", "../a")}"')


@pytest.mark.parametrize("form", [*rows(NAMED), *rows(FOLDERS)])
def test_what_it_writes_inside_is_no_write_outside(form: str) -> None:
    for target in ("out", "./out", "sub/../out", f"{ROOT}/out", "'a b'"):
        assert away(form.replace("@", target)) == "", target


@pytest.mark.parametrize(
    "text",
    [
        "tar xf ../a.tar",
        "tar -xzf /opt/a.tgz",
        "tar cf a.tar ../src",
        "zip -r a.zip ../src",
        "unzip ../a.zip",
        "7z x ../a.7z",
        "gzip -c ../a > b",
        "zstd ../a -o b",
        "go build -o a ../cmd",
        "gcc -I../include -L/opt/lib ../a.c -o a",
        "git worktree add sub ../main",
        "git clone ../other",
        "git clone ../other here",
        "git -C ../other status > a",
        "git -C ../other log --oneline > a",
        "curl -T ../a -o b https://x",
        "uniq ../a b",
        "xxd ../a b",
        "split ../a b",
        "convert ../a.png b.png",
        "ffmpeg -i ../a.mp4 b.mp4",
        "pandoc ../a.md -o b",
        "openssl x509 -in ../a.pem -out b",
        "cp -t . ../a",
        "cp ../a b",
        "./configure --prefix=/opt",
        "cmake ../src",
        "pip install -r ../requirements.txt",
        "pip install ../package",
        "npm install ../package",
        "black --check ../src",
        "prettier ../src",
        "gofmt -l ../src > a",
        "ssh-keygen -lf ../a.pub > a",
        "sometool --input ../a --output b",
        "tool -o name ../a",
    ],
)
def test_what_is_only_read_outside_is_not_said_to_be_written(text: str) -> None:
    assert away(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "CARGO_TARGET_DIR=../x cargo build",
        "GIT_DIR=../x/.git git commit -m x",
        "GIT_WORK_TREE=/opt git checkout .",
        "env GOBIN=/opt/bin go install ./x",
        "DESTDIR=/opt make install",
        "PIP_TARGET='../x' pip install y",
        "HOME=/tmp make",
    ],
)
def test_a_variable_that_says_where_counts_as_an_option(text: str) -> None:
    assert away(text) == "maybe"


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        ("tar cf $OUT .", False),
        ('zip "$1" x', False),
        ("go build -o $(pwd)/../a", False),
        ("cd $X && tar cf a .", False),
        ("git worktree add ~/x", False),
        ("gzip *.log", False),
        ("zip a.zip 'b c'", True),
        ("convert *.png a.pdf", True),
    ],
)
def test_a_target_that_cannot_be_told_makes_the_line_uncertain(text: str, certain: bool) -> None:
    assert classify_command_line(text, root=ROOT).certain == certain


def test_a_target_that_other_programs_obey_is_protected() -> None:
    for text in (
        "tar cf .git/hooks/pre-commit x", "zip .github/workflows/ci.yml x", "go build -o .git/x",
        "git archive -o .envrc HEAD", "unzip a.zip -d .git", "curl -sSo .git/config https://x",
        "git worktree add .github",
    ):  # fmt: skip
        line = classify_command_line(text, root=ROOT)
        codes = operation_risks(RunCommand(script=text.encode()), RiskInput(line=line, root=ROOT))
        assert "protected" in codes, text


def test_no_remembered_answer_covers_another_target_outside() -> None:
    for text in ("go build -o ../a", "git worktree add ../a", "cargo build --target-dir /opt/a"):
        line = classify_command_line(text, root=ROOT)
        assert line.always
        assert all(pattern.exact for pattern in line.always), text


def test_every_row_about_files_says_something() -> None:
    for name, program in PROGRAMS.items():
        for use in program.files:
            quiet = FileUse(verb=use.verb, when=use.when, unless=use.unless, values=use.values)
            assert use != quiet, name
            options = (*use.output, *use.into, *use.when, *use.unless, *use.values)
            assert all(option.startswith("-") for option in options), (name, use)
