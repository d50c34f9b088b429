// Version, commit and build kind of this program.
#pragma once

#include <string>

namespace hloscope::app {

// "hloscope 0.1.0 (commit abc1234, Release, …)" with one line per thing found at build time.
std::string VersionText();

/// The commit that this program was built from, "unknown" where the sources are not a git checkout.
const char* Commit();

}  // namespace hloscope::app
