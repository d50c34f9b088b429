// What is kept of a module that a worker died of.
#pragma once

#include <string>

#include "core/hlo/module.h"

namespace hloscope::replay {

// Where such modules go for this user: died/ in hloscope's folder for state ($XDG_STATE_HOME, else
// ~/.local/state); empty where there is no home.
std::string EvidenceFolder();

// Writes the module as NAME.HASH.hlo.pb, readable by its owner only, once for equal modules; the
// oldest beyond 20 go. The file, or empty where it could not be written.
std::string KeepEvidence(const hlo::Module& module, const std::string& folder);

}  // namespace hloscope::replay
