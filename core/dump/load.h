// Loading a module from any file that holds one: HLO text, binary or text proto, packed or not.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/listing/sniff.h"
#include "core/hlo/diagnostic.h"
#include "core/hlo/proto/proto.h"

namespace hloscope::dump {

// What `--input_format` names; kAuto decides by content.
enum class InputFormat : uint8_t { kAuto, kHlo, kProto, kTextProto };
// The format called `name` as run_hlo_module calls them (hlo, txt, pb, pbtxt, stablehlo, mhlo,
// riegeli; empty is kAuto). `more` are those that the caller takes as well, each after a comma.
Result<InputFormat> InputFormatFromName(std::string_view name, std::string_view more = "");

struct LoadedModule {
  std::string path;  // as given
  FileView file;     // its bytes; places of diagnostics refer to them
  FileKind kind = FileKind::kUnknown;
  std::shared_ptr<const hlo::Module> module;  // null if it could not be read
  std::vector<hlo::Diagnostic> diagnostics;   // errors and warnings of reading it
  hlo::ProtoFile proto;                       // where it came from a proto: what else was in it
};

// Reads the module in `path` ("-" is standard input). Errors: the file cannot be read, or is of a
// kind that holds no module (named, with the fix). What is wrong inside is in `diagnostics` and
// leaves `module` null.
Result<LoadedModule> LoadModule(const std::string& path, const Limits& limits,
                                InputFormat format = InputFormat::kAuto);

// The same from a file that is open already.
Result<LoadedModule> LoadModule(const FileView& file, const Limits& limits,
                                InputFormat format = InputFormat::kAuto);

// As LoadModule, and every error of reading becomes the error, placed in the file.
Result<LoadedModule> LoadSoundModule(const std::string& path, const Limits& limits,
                                     InputFormat format = InputFormat::kAuto);

Result<LoadedModule> LoadSoundModule(const FileView& file, const Limits& limits,
                                     InputFormat format = InputFormat::kAuto);

// Places of diagnostics in the file they were loaded from; its lines are counted once.
class Places {
 public:
  explicit Places(const LoadedModule& loaded) : loaded_(loaded) {}
  Place Of(const hlo::Diagnostic& diagnostic);

 private:
  const LoadedModule& loaded_;
  std::optional<hlo::LineIndex> lines_;
};

}  // namespace hloscope::dump
