// UnpackBundle: the parts of a bundle as files.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/dump/bundle_file.h"

namespace hloscope::debug {

// Writes every part into `folder`, which is made with access for its owner only; one that exists
// must be empty and no link. Nothing is written anywhere else and nothing is overwritten; where a
// part is damaged, what was written before it goes again. The paths of the files.
Result<std::vector<std::string>> UnpackBundle(const dump::BundleFile& bundle,
                                              const std::string& folder);

}  // namespace hloscope::debug
