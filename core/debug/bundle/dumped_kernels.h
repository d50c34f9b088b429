// DumpedKernels: what a simulated GPU runs a module by, out of its dump: its last stage, PTX, the
// memory and the order of its kernels. In a bundle they are an archive of the dump's files.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/scratch_folder.h"
#include "core/debug/bundle/redact_module.h"
#include "core/debug/bundle/redactor.h"
#include "core/dump/dump_model.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

struct DumpedKernels {
  std::string module_file;                    // the name of the last stage's
  std::shared_ptr<const hlo::Module> module;  // the last stage; null: the dump has no kernels
  std::vector<std::pair<std::string, std::string>> files;  // name, text; the others
};

// Of a module of a dump. Without a module where it has no kernels of XLA:GPU.
DumpedKernels ReadDumpedKernels(const dump::DumpModel& dump, int32_t module, const Limits& limits);

void LearnFrom(const DumpedKernels& kernels, Redactor& redactor);
// The archive, redacted. Errors: those of RedactModule.
Result<std::string> PackKernels(const DumpedKernels& kernels, Redactor& redactor,
                                RedactionOptions options, const Limits& limits);
// Writes the files of such an archive into `folder`, which has to be there; the path of the last
// stage. Input errors: what ZipRules::kStrict refuses, members in folders, no last stage.
Result<std::string> UnpackKernels(std::string_view archive, const std::string& folder,
                                  const Limits& limits);

// The kernels of a bundle, unpacked for as long as this lives.
struct BundledKernels {
  ScratchFolder folder;
  std::string module_file;  // the path of the last stage
};
// Null where `file` is no bundle, or one without kernels. Errors: those of UnpackKernels and of
// BundleFile::Open.
Result<std::unique_ptr<const BundledKernels>> KernelsOfBundle(const std::string& file,
                                                              const Limits& limits);
// The table of choices between ways of libraries (RunOptions::choices); empty where `file` is no
// bundle, or one without.
Result<std::string> ChoicesOfBundle(const std::string& file, const Limits& limits);

}  // namespace hloscope::debug
