// BundleMaking: a bundle of what is wrong with a module, made by a process of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/debug/bundle/manifest.h"
#include "core/dump/bundle_file.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

// What is asked for.
struct BundleOptions {
  std::string path;
  debug::ValuePolicy values = debug::ValuePolicy::kShapes;
  std::string note;
  bool no_source = false;
  bool operator==(const BundleOptions&) const = default;
};

// What is to go in: `hloscope bundle create --plan` says it.
struct PlannedFile {
  struct Part {
    dump::BundlePart part = dump::BundlePart::kManifest;
    std::optional<int64_t> bytes = {};  // absent: known when it has run
    bool of_run = false;                // goes in where the run gives it
  };
  std::vector<Part> parts;
  int64_t bytes = 0, packed_bytes = 0;  // of those whose size is known; compressed
  std::vector<std::pair<std::string, int64_t>> redacted;
  std::vector<std::string> notes;
};

// What went in.
struct MadeFile {
  debug::BundleManifest manifest;
  std::vector<dump::BundleFile::Listed> parts;
  int64_t bytes = 0;
};

struct BundleMaking {
  BundleOptions options;
  Pending<MadeFile> made;
};

/// The last that was made; null: none.
struct MadeBundle {
  std::shared_ptr<BundleMaking> last;
};

// What MakeBundle would put in now, found in the background by a process that runs nothing of the
// module.
const Pending<PlannedFile>& BundlePlanOf(Context& context, int32_t module,
                                         const BundleOptions& options);

// Runs `hloscope bundle create` on the file of the module that FailingRunOf names (else of that in
// view, on the interpreter), with the verdict and the reduced module where they are there. A
// message says when it is done, or why it failed.
void MakeBundle(Context& context, int32_t module, const BundleOptions& options);
// The last one; null: none yet.
const BundleMaking* LastBundle(Context& context);

// "5.4 kB in 9 parts; in a clean process: reproduced".
std::string MadeText(const MadeFile& made);
// "2 × path, 1 × token", or "nothing".
std::string RedactedText(const std::vector<std::pair<std::string, int64_t>>& counts);

}  // namespace hloscope::viewer
