"""The release of macOS that is simulated, in one place."""

from __future__ import annotations

PRODUCT_NAME = "macOS"
PRODUCT_VERSION = "26.1"
BUILD_VERSION = "25B78"
KERNEL_RELEASE = "25.1.0"
KERNEL_VERSION = "Darwin Kernel Version 25.1.0: Mon Oct 20 19:34:05 PDT 2025; root:xnu-12377.41.6~2/RELEASE_ARM64_T6041"
MACHINE = "arm64"
