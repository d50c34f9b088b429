// SpelledSecrets: constants of a module whose elements are the characters of a secret.
#pragma once

#include <string>
#include <vector>

#include "core/debug/bundle/redactor.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

/// A note for each constant that spells what a text would lose, in integers that are characters:
/// the program computes with it, so that it stays. Says how to leave it out.
std::vector<std::string> SpelledSecrets(const hlo::Module& module, Redactor& redactor);

}  // namespace hloscope::debug
