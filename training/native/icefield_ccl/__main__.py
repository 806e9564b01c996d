"""``python -m icefield_ccl`` builds the extension for this environment's torch."""

import sys

from icefield_ccl.build import main

sys.exit(main())
