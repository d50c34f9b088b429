// Dispatch from file kind to reader.
#include "core/dump/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/base/memory_limit.h"
#include "core/base/progress/activity.h"
#include "core/dump/bundle_file.h"
#include "core/dump/container.h"
#include "core/dump/listing/sniff.h"
#include "core/dump/not_a_module.h"
#include "core/dump/plan_file.h"
#include "core/hlo/text/text.h"

namespace hloscope::dump {
namespace {

constexpr std::string_view kUnfinished = "the writer may still be at work, or ran out of disk";

// Packed files and encodings that are not read, by how they begin.
struct NotRead {
  std::string_view begin, what, hint;
};
constexpr NotRead kNotRead[] = {
    {std::string_view("\xfd"
                      "7zXZ"),
     "packed by xz", "unpack it first: xz -d, or tar -xJf"},
    {"BZh", "packed by bzip2", "unpack it first: bzip2 -d, or tar -xjf"},
    {"\x28\xb5\x2f\xfd", "packed by zstd", "unpack it first: zstd -d, or tar --zstd -xf"},
    {"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first: 7z x"},
    {"Rar!\x1a\x07", "a rar archive", "unpack it first: unrar x"},
    {"\xff\xfe", "text in UTF-16", "save it as UTF-8: iconv -f UTF-16 -t UTF-8"},
    {"\xfe\xff", "text in UTF-16", "save it as UTF-8: iconv -f UTF-16 -t UTF-8"},
};

FileKind KindFor(InputFormat format, std::string_view bytes) {
  switch (format) {
    case InputFormat::kAuto:
      return Sniff(bytes);
    case InputFormat::kHlo:
      return FileKind::kHloText;
    case InputFormat::kProto:
      return FileKind::kHloProto;
    case InputFormat::kTextProto:
      return FileKind::kHloTextProto;
  }
  return FileKind::kUnknown;
}

constexpr std::string_view kProtoRule = "proto";

// Where in the text that place is; kNoOffset: it is in no line.
uint64_t OffsetOf(std::string_view text, const Place& place) {
  if (place.line == 0) return hlo::Diagnostic::kNoOffset;
  size_t begin = 0;
  for (uint32_t line = 1; line < place.line; ++line) {
    begin = text.find('\n', begin);
    if (begin == text.npos) return hlo::Diagnostic::kNoOffset;
    ++begin;
  }
  return std::min<size_t>(begin + std::max(place.column, 1u) - 1, text.size());
}

void TakeProto(LoadedModule& loaded, Result<hlo::ProtoFile> proto) {
  if (proto) {
    loaded.proto = *std::move(proto);
    loaded.module = loaded.proto.module;
    return;
  }
  const Error& e = proto.error();
  loaded.diagnostics.push_back({hlo::Severity::kError, std::string(kProtoRule), e.message, e.hint,
                                OffsetOf(loaded.file.bytes(), e.place)});
}

// The module inside; places of what is wrong with it are those of the part.
Result<LoadedModule> LoadFromBundle(const FileView& file, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const BundleFile bundle, BundleFile::Open(file, limits));
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView module, bundle.ModuleFile());
  if (!IsModuleKind(Sniff(module.bytes())) || Sniff(module.bytes()) == FileKind::kBundle) {
    return std::unexpected(Error{ErrorClass::kInput,
                                 "the module in this bundle is not an HLO module",
                                 {file.path(), 0, 0},
                                 {}});
  }
  return LoadModule(module, limits);
}

// Of text that does not begin like HLO: the first error says that it is none.
void SayWhatItIs(FileKind kind, std::vector<hlo::Diagnostic>& diagnostics) {
  const auto first =
      std::ranges::find(diagnostics, hlo::Severity::kError, &hlo::Diagnostic::severity);
  if (first == diagnostics.end() || !first->hint.empty()) return;
  first->hint =
      fmt::format("this is {}: expected HLO text, an HLO proto or its text form", Describe(kind));
}

Result<LoadedModule> Read(const FileView& file, const Limits& limits, InputFormat format) {
  std::string_view bytes = file.bytes();
  FileKind kind = KindFor(format, bytes);
  LoadedModule loaded{file.path(), file, kind, nullptr, {}, {}};
  // Text that begins like nothing we know is read as HLO, so that its error says where it stops
  // being HLO.
  if (kind == FileKind::kHloText || kind == FileKind::kText || kind == FileKind::kJson) {
    loaded.kind = FileKind::kHloText;
    hlo::ParseResult parsed = hlo::ParseText(bytes, limits);
    loaded.module = std::move(parsed.module);
    loaded.diagnostics = std::move(parsed.diagnostics);
    if (loaded.module == nullptr && kind != FileKind::kHloText && format == InputFormat::kAuto)
      SayWhatItIs(kind, loaded.diagnostics);
    return loaded;
  }
  if (kind == FileKind::kHloProto) {
    auto owner = std::make_shared<FileView>(file);
    TakeProto(loaded, hlo::ReadProto(std::as_bytes(std::span(bytes)), limits, owner));
    return loaded;
  }
  if (kind == FileKind::kBundle) return LoadFromBundle(file, limits);
  if (kind == FileKind::kPlan) {
    HLOSCOPE_ASSIGN_OR_RETURN(const PlanFile parts, OpenPlanFile(bytes));
    TakeProto(loaded, hlo::ReadProto(parts.module, limits, std::make_shared<FileView>(file)));
    return loaded;
  }
  if (kind == FileKind::kHloTextProto) {
    TakeProto(loaded, hlo::ReadTextProto(bytes, limits));
    return loaded;
  }
  return std::unexpected(NotAModule(file.path(), bytes, kind));
}

}  // namespace

Error NotAModule(const std::string& path, std::string_view bytes, FileKind kind) {
  std::string hint = "expected HLO text, an HLO proto or its text form";
  ErrorClass error_class = ErrorClass::kInput;
  std::string_view name = path;
  if (name.ends_with(".gz")) name.remove_suffix(3);
  if (kind == FileKind::kUnknown && name.ends_with(".hlo.pb")) {
    return {error_class,
            "not an HLO module: the proto is truncated or corrupt",
            {path, 0, 0},
            std::string(kUnfinished)};
  }
  const auto packed = std::ranges::find_if(
      kNotRead, [&](const NotRead& one) { return bytes.starts_with(one.begin); });
  if (kind == FileKind::kUnknown && packed != std::end(kNotRead)) {
    return {error_class,
            fmt::format("not an HLO module: this is {}", packed->what),
            {path, 0, 0},
            std::string(packed->hint)};
  }
  if (IsProgramKind(kind)) {
    hint =
        "StableHLO is translated by an XLA plugin: `hloscope convert IN OUT.hlo` with a plugin "
        "installed";
    error_class = ErrorClass::kUnsupported;
  } else if (kind == FileKind::kEmpty) {
    hint = kUnfinished;
  }
  return {error_class,
          fmt::format("not an HLO module: this is {}", Describe(kind)),
          {path, 0, 0},
          hint};
}

Result<InputFormat> InputFormatFromName(std::string_view name, std::string_view more) {
  if (name.empty() || name == "auto") return InputFormat::kAuto;
  if (name == "hlo" || name == "txt") return InputFormat::kHlo;
  if (name == "pb") return InputFormat::kProto;
  if (name == "pbtxt" || name == "textproto") return InputFormat::kTextProto;
  if (name == "stablehlo" || name == "mhlo" || name == "mlir" || name == "riegeli") {
    return UnsupportedError(fmt::format("input format {} cannot be read by this build", name),
                            "give HLO text or an HLO proto");
  }
  return InputError(
      fmt::format("unknown input format {}, expected one of hlo, pb, pbtxt{}", name, more));
}

Result<LoadedModule> LoadModule(const std::string& path, const Limits& limits, InputFormat format) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, OpenModuleFile(path, limits));
  return LoadModule(file, limits, format);
}

Result<LoadedModule> LoadModule(const FileView& file, const Limits& limits, InputFormat format) {
  const Activity activity("reading", file.path());
  return WithinMemory(limits, file.path(), [&] { return Read(file, limits, format); });
}

Result<LoadedModule> LoadSoundModule(const std::string& path, const Limits& limits,
                                     InputFormat format) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, OpenModuleFile(path, limits));
  return LoadSoundModule(file, limits, format);
}

Result<LoadedModule> LoadSoundModule(const FileView& file, const Limits& limits,
                                     InputFormat format) {
  HLOSCOPE_ASSIGN_OR_RETURN(LoadedModule loaded, LoadModule(file, limits, format));
  if (loaded.module != nullptr) return loaded;
  auto first =
      std::ranges::find(loaded.diagnostics, hlo::Severity::kError, &hlo::Diagnostic::severity);
  if (first == loaded.diagnostics.end())
    return InternalError(file.path() + ": no module and no error");
  return std::unexpected(
      Error{ErrorClass::kInput, first->message, Places(loaded).Of(*first), first->hint});
}

Place Places::Of(const hlo::Diagnostic& diagnostic) {
  // Of a proto the reader's own error has one, where it is text.
  const bool is_text = loaded_.kind == FileKind::kHloText ||
                       (loaded_.kind == FileKind::kHloTextProto && diagnostic.rule == kProtoRule);
  if (!is_text) return {loaded_.path, 0, 0};
  if (!lines_) lines_.emplace(loaded_.file.bytes());
  return lines_->PlaceOf(diagnostic.offset, loaded_.path);
}

}  // namespace hloscope::dump
