# What a newcomer runs: `make demo` and `make test`. Each sets up .venv first, pinned by constraints.txt.

PYTHONS := python3.14 python3.13 python3.12 python3.11 python3
FITS    := import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 15))
BIN     := .venv/bin
READY   := .venv/.ready
STARTED := click rich numpy scipy sqlalchemy narwhals cryptography matplotlib pandas \
	PIL duckdb arro3 pyarrow numba llvmlite IPython ipykernel debugpy traitlets tornado zmq jupyter_client \
	jupytext nbformat nbclient mkdocs markdown jinja2 griffe mkdocstrings _pytest pluggy xdist execnet hypothesis \
	sklearn joblib polars psycopg redis sqlglot pydantic fastapi starlette uvicorn anyio httptools python_multipart \
	prometheus_client authlib joserfc argon2 requests urllib3 httpx2 pyhpke Cryptodome dp_accounting opentelemetry \
	playwright markdown_it mdurl pygments yaml dateutil attr absl jsonschema referencing fastjsonschema \
	charset_normalizer cffi psutil pyparsing mpl_toolkits packaging fontTools cycler lazy_loader threadpoolctl.py \
	typing_extensions.py typing_inspection annotated_types pydantic_core platformdirs sortedcontainers iniconfig \
	distributed dask fsspec toolz zict tblib cloudpickle msgpack idna pymdownx mkdocs_autorefs mkdocs_get_deps \
	babel pathspec markupsafe more_itertools pycparser
WANTED  := --constraint constraints.txt --editable '.[all]' --group dev
# numba, BLAS and DuckDB take all cores as they are; pytest shares them between four workers, for some wait.
PYTEST  := $(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder -m "not reproduction"

.PHONY: checked simulate demo demo-federated demo-local demo-pairs demo-server demo-sites demo-stream demo-warehouse test test-slow lint types contracts docs seen site examples unit site-check marks flower nvflare dbt r-check screenshots house exercise versions package release tag pictures bench bench-accuracy expected-errors audit self-audit crash papers format constraints pins clean

demo: $(READY)
	$(BIN)/python demo/flights.py

demo-federated: $(READY)
	$(BIN)/python demo/federated.py

demo-stream: $(READY)
	$(BIN)/python demo/stream.py

demo-local: $(READY)
	$(BIN)/python demo/people.py

demo-pairs: $(READY)
	$(BIN)/python demo/pairs.py

demo-server: $(READY)
	$(BIN)/python demo/server.py

demo-sites: $(READY)
	$(BIN)/python demo/sites.py

demo-warehouse: $(READY)
	$(BIN)/python demo/warehouse.py

# What uses one core goes beside the tests, which are longer and print their verdict last.
test: $(READY)
	$(MAKE) --no-print-directory -j2 unit checked

# Style, types, contracts of imports, then each example, then the pages that show what it drew; and the package is audited.
checked: $(READY)
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory types TYPED=src
	$(MAKE) --no-print-directory contracts
	$(MAKE) --no-print-directory examples EXAMPLES=--quick
	$(MAKE) --no-print-directory docs
	$(MAKE) --no-print-directory seen
	$(MAKE) --no-print-directory self-audit EFFORT=0.4
	$(MAKE) --no-print-directory simulate SCHEDULES=45

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/air format --check r benchmarks/beside_r.R
	@command -v Rscript >/dev/null || echo "R is not installed: R code was parsed and its style checked, not run (make r-check)"

# The package and its tests; `make test` checks the package alone (TYPED=src), for tests take a third of the time.
types: $(READY)
	$(BIN)/mypy $(TYPED)

contracts: $(READY)
	$(BIN)/lint-imports

# Runs each example as a notebook, and holds its picture against the kept one. Processes are copies of one that has imported
# libraries; tests hold that these do what fresh ones do. `make test` leaves out the eight longest (EXAMPLES=--quick).
examples: $(READY)
	$(BIN)/python docs/examples.py --copies $(EXAMPLES)

# Not --quiet: what is not said is not counted either, and no warning would be an error.
docs: $(READY)
	$(BIN)/python docs/site_pages.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file build/pages/mkdocs.yml --site-dir ../../site
	$(BIN)/python docs/words.py

# The pages that were built just now in a browser, where one is installed: beside other tests they would be built twice.
seen: $(READY)
	$(BIN)/pytest -p no:cacheprovider -m "not reproduction" tests/test_site.py

# The whole site, with what examples drew just now, in site/.
site: $(READY)
	$(BIN)/python docs/examples.py --copies
	$(MAKE) docs

# Workers do not rewrite each `assert`, which takes them as long as all else before the first test. What fails is run again,
# with an explanation.
unit: $(READY)
	$(PYTEST) --assert=plain --ignore tests/test_site.py || { $(BIN)/pytest --last-failed --last-failed-no-failures=none --maxfail=20; exit 1; }

# Servers, sites, ledgers and streams in simulated worlds whose disks, power and network fail; SCHEDULES=100000 takes hours.
# With LINES=--lines it prints which part of the protocols was executed, with FIRST=SEED it begins elsewhere.
simulate: $(READY)
	$(BIN)/python -m dpcurves_sim.cli --schedules $(or $(SCHEDULES),2000) --first $(or $(FIRST),0) --workers $$(nproc) $(LINES)

# Every page of the site in Chromium, read by axe in light and dark, wide and narrow, each with its verdict as it is read:
# a quarter of an hour of two cores.
site-check: docs
	$(BIN)/python docs/blocks.py
	DPCURVES_SITE_MODES=all $(BIN)/pytest -o faulthandler_timeout=0 -s -rs tests/test_site.py tests/test_zensical.py
	$(BIN)/pytest -s -rs -m reproduction tests/server/test_try_browser.py tests/server/test_try_command.py

# What people see, each figure beside its mark: words, links, media, labels, searches, clicks and seconds of `dpcurves try`.
# With QUICK=--quick no browser is opened, with QUICK='--only labels' one measure runs.
marks: docs
	$(BIN)/python docs/marks.py $(QUICK)

# Flower carries a federation of three sites, in an environment of its own: it needs other versions of packages.
flower: $(READY)
	@test -x .venv/flower/bin/flwr || { $(BIN)/python -m venv .venv/flower && .venv/flower/bin/pip install --quiet flwr==1.42.0; }
	DPCURVES_FLOWER=$$(pwd)/.venv/flower/bin $(BIN)/pytest -s tests/sites/test_flower.py

# NVFlare's simulator does, in an environment of its own, too, as it brings much that no test needs.
nvflare: $(READY)
	@test -x .venv/nvflare/bin/nvflare || { $(BIN)/python -m venv .venv/nvflare && \
		.venv/nvflare/bin/pip install --quiet --constraint constraints.txt nvflare; }
	DPCURVES_NVFLARE=$$(pwd)/.venv/nvflare/bin $(BIN)/pytest -s tests/sites/test_nvflare.py

# dbt builds tables and names them in a statement, in an environment of its own; the command asks it.
dbt: $(READY)
	@test -x .venv/dbt/bin/dbt || { $(BIN)/python -m venv .venv/dbt && \
		.venv/dbt/bin/pip install --quiet 'dbt-core==1.10.*' 'dbt-duckdb==1.10.*'; }
	DPCURVES_DBT=$$(pwd)/.venv/dbt/bin $(BIN)/pytest -s tests/engines/test_pipelines.py

# The R package by `R CMD check`, with R and its packages from the system (r-base-core, r-cran-ggplot2, r-cran-jsonlite,
# r-cran-testthat), and with the command of this clone.
r-check: $(READY)
	@mkdir -p build/r
	cd build/r && R CMD build --no-manual ../../r && \
		PATH="$$(pwd)/../../$(BIN):$$PATH" R CMD check --no-manual dpcurves_*.tar.gz

# Ten pages of the site, twelve pictures and six pages of a server as people see them, in docs/images/shots.
screenshots: docs
	$(BIN)/python docs/screenshots.py

# How large the code is, what stands where, and what a first curve loads, each figure beside its mark. Nothing fails.
house: $(READY)
	$(BIN)/python docs/house.py

# Adds a new thing of each kind to a copy of src, asks it a question there, and counts the existing files that were edited.
exercise: $(READY)
	$(BIN)/python docs/exercise.py

# The pages of this code beside those of other versions, on the branch `pages`: `make versions VERSION="0.1 latest"`, or dev.
versions: examples
	$(BIN)/python publish/versions.py $(VERSION)

# What would be published, in dist/: a wheel from the source archive, which is tested where it was unpacked.
package: $(READY)
	rm -rf dist
	$(BIN)/uv build --quiet --out-dir dist
	@set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; python=$$(pwd)/$(BIN)/python; \
		tar -xzf dist/*.tar.gz -C "$$folder" --strip-components 1; cd "$$folder"; \
		PYTHONPATH=$$folder/src $$python -m pytest tests/test_docs.py tests/test_shortcuts.py tests/privacy src/dpcurves/privacy

# A release of what is committed, in dist/, tried in fresh environments; TESTED=COMMIT says that CI passed on it already.
# With UNTESTED=1 CI is left out, to try the rest: what comes out can not be tagged.
release: $(READY)
	@UV_PYTHON_DOWNLOADS=never $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --group release
	$(BIN)/python publish/release.py $(VERSION) $(if $(TESTED),--tested $(TESTED)) $(if $(UNTESTED),--untested)

# The tag of a release that was made of this very commit.
tag: $(READY)
	$(BIN)/python publish/release.py $(VERSION) --tag

# Pictures of the README, the pages and the gallery, and what the pages print, from today's code; then pictures of every
# kind with every kind of name are measured. (The other benchmark and papers draw their own.)
pictures: $(READY)
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/blocks.py --write
	$(BIN)/python docs/card.py
	$(BIN)/python docs/choices.py
	$(BIN)/python docs/dial.py
	$(BIN)/python docs/promise_pictures.py
	$(BIN)/python demo/who_sees_what.py
	$(BIN)/python papers/gallery.py
	$(BIN)/pytest -q -n 2 -m reproduction tests/display/test_labels.py
	$(MAKE) screenshots

# Kills a stream at every statement, commit and write of its first steps; with STORE=, a URL, on that server. And
# a verification server and its workers KILLS= times, at times that are drawn; devices of people in pairs, at every
# request and write; and two servers, at every message of a session, and with their workers at times that are drawn.
crash: $(READY)
	$(BIN)/python tests/feed/crashes.py $(STORE)
	$(BIN)/python tests/server/server_crashes.py $(or $(KILLS),1000)
	$(BIN)/python tests/parties/people_crashes.py
	$(BIN)/python tests/two_servers/pair_crashes.py
	$(BIN)/python tests/two_servers/kills.py $(or $(KILLS),1000)
	$(BIN)/python tests/two_servers/tampering.py

# What `make test` leaves out: whole sweeps, all cases of large families and coverage by many releases; an hour of two cores.
test-slow: $(READY)
	$(BIN)/pytest -n 2 --dist loadfile -m reproduction tests

bench: test-slow
	@set -e; for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python "$$file"; done

# Tables A to D of accuracy: the default curve beside simple methods, strategies beside the optimum, widths of intervals over
# errors, questions without a range, and cost; each figure with its mark, and the reason of a miss. An hour; with SIZE=--quick
# in minutes; with SIZE=--full in hours, for then the whole list of simple methods, the best choices in hindsight and the page
# "Which error to expect" with its picture are measured again, too.
bench-accuracy: $(READY)
	$(BIN)/python benchmarks/accuracy_marks.py $(filter --quick,$(SIZE))
ifeq ($(SIZE),--full)
	$(BIN)/python benchmarks/simple_methods.py
	$(BIN)/python benchmarks/regimes.py $(SIZE)
	$(MAKE) expected-errors
	$(BIN)/python benchmarks/tuning.py
endif

# The auditor's exam, told claims alone, and what lies around answers of neighbours, with their tables in docs/audit.md; and
# a quick audit of this version, with SIZE=--full the whole one: minutes of one core, or three quarters of an hour. With
# RESUME=FILE rows of the exam are kept in a file, reports in FILE.self, and one that was stopped goes on behind the last.
audit: $(READY)
	$(BIN)/python benchmarks/audit.py --write $(if $(RESUME),--resume $(RESUME))
	$(BIN)/python benchmarks/surroundings.py --write
	$(MAKE) --no-print-directory self-audit

# Everything here under the auditor, in a minute of one core; what is flagged, or gives no answer, fails. All of a quick one
# together flags what keeps its promise with a chance below 2e-6: each is above its claim twice.
self-audit: $(READY)
	$(BIN)/dpcurves audit self $(if $(filter --full,$(SIZE)),,--quick --confidence 0.9999 --effort $(or $(EFFORT),1)) $(if $(RESUME),--resume $(RESUME).self)

# What the page "Which error to expect" says, and its picture, measured again: some minutes of one core.
expected-errors: $(READY)
	$(BIN)/python benchmarks/expected_errors.py --json docs/expected_errors.json
	$(BIN)/python docs/expected_errors.py

# All runs of all papers take hours, and keep a record; with SIZE=--quick, fewer runs on smaller data, it stays as it is.
papers: $(READY)
	@set -e; for file in papers/*/run.py; do echo "== $$file"; $(BIN)/python "$$file" $(SIZE); done
	$(BIN)/python papers/pages.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/air format r benchmarks/beside_r.R

# Looks up advisories of the pinned versions, where the index has them.
pins: $(READY)
	@$(BIN)/python publish/pins.py

# Pins again what pyproject.toml asks for: names and versions, no hosts, no markers.
constraints: $(READY)
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11.2 --upgrade --all-extras --group dev --group release \
		--no-header --no-annotate pyproject.toml | sed 's/ *;.*//' > constraints.new
	mv constraints.new constraints.txt

clean:
	rm -rf .venv build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests docs benchmarks demo papers -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The first interpreter that fits makes .venv. Then uv installs in a quarter of pip's time; where it can't be had, pip does,
# from 25.1 on, which knows dependency groups.
$(READY): pyproject.toml setup.py constraints.txt
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		for name in $(PYTHONS); do if $$name -c "$(FITS)" >/dev/null 2>&1; then python=$$name; break; fi; done; \
		if [ -z "$$python" ]; then \
			echo "Python 3.11 to 3.14 with its venv module is needed; none of these is one: $(PYTHONS)" >&2; exit 1; \
		fi; \
		echo "Setting up .venv with $$($$python --version)"; $$python -m venv .venv; \
	fi
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt uv || echo "no uv to be had: pip goes on alone"
	@UV_PYTHON_DOWNLOADS=never $(BIN)/uv pip install --quiet --python $(BIN)/python $(WANTED) || \
		{ $(BIN)/python -m pip install --quiet 'pip>=25.1' && $(BIN)/python -m pip install --quiet $(WANTED); }
	@# Compiled now, so that commands and kernels answer at once where Python may write no byte code later.
	@$(BIN)/python -m compileall -q -j 0 -x '/site-packages/.*/tests?/' src tests docs demo papers publish $(patsubst %,.venv/lib/python3*/site-packages/%,$(STARTED))
	@touch $@
