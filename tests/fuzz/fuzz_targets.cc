// What each fuzz target does with its input.
#include "tests/fuzz/fuzz_targets.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/analysis/align/compare_modules.h"
#include "core/debug/run/run_module.h"
#include "core/dump/listing/sniff.h"
#include "core/dump/tensors/npy.h"
#include "core/dump/tensors/npz.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/text/text.h"
#include "core/hlo/verify/verifier.h"
#include "tests/fuzz/bundle_target.h"
#include "tests/fuzz/device_target.h"
#include "tests/fuzz/message_target.h"
#include "tests/fuzz/reader_targets.h"

namespace hloscope::fuzz {
namespace {

[[noreturn]] void Broken(const char* what, const std::string& detail) {
  std::fprintf(stderr, "oracle broken: %s: %s\n", what, detail.c_str());
  std::abort();
}

bool HasError(const std::vector<hlo::Diagnostic>& diagnostics) {
  for (const hlo::Diagnostic& d : diagnostics) {
    if (d.severity == hlo::Severity::kError) return true;
  }
  return false;
}

bool Verifies(const hlo::Module& module) { return !HasError(hlo::Verify(module)); }

// Every error says where and what.
void CheckDiagnostics(const hlo::ParseResult& parsed, std::string_view input) {
  if (!parsed.ok() && !HasError(parsed.diagnostics))
    Broken("text", "neither a module nor an error");
  for (const hlo::Diagnostic& d : parsed.diagnostics) {
    if (d.message.empty() || d.rule.empty()) Broken("text", "an error without message or rule");
    if (d.offset > input.size()) Broken("text", "an error without a place: " + d.message);
  }
}

void FuzzText(std::string_view input) {
  hlo::ParseResult parsed = hlo::ParseText(input);
  CheckDiagnostics(parsed, input);
  if (!parsed.ok()) return;
  bool sound = Verifies(*parsed.module);
  std::string printed;
  hlo::PrintText(*parsed.module, hlo::TextFormat::kHlo, printed);
  for (hlo::TextFormat format :
       {hlo::TextFormat::kElided, hlo::TextFormat::kShort, hlo::TextFormat::kCanonical}) {
    std::string other;
    hlo::PrintText(*parsed.module, format, other);
  }
  if (!sound) return;
  hlo::ParseResult again = hlo::ParseText(printed);
  if (!again.ok()) Broken("text: its print does not parse", again.diagnostics.front().message);
  analysis::ModuleComparison same = analysis::CompareModules(*parsed.module, *again.module);
  if (same.equal) return;
  std::string what =
      same.changed.empty() ? "instructions added or removed" : same.changed.front().what;
  Broken("text: print and parse give another module", what);
}

void FuzzProto(std::string_view input) {
  auto bytes = std::as_bytes(std::span(input));
  Result<hlo::ProtoFile> read = hlo::ReadProto(bytes);
  if (!read) {
    if (read.error().message.empty()) Broken("proto", "an error without message");
    return;
  }
  bool sound = Verifies(*read->module);
  std::string printed;
  hlo::PrintText(*read->module, hlo::TextFormat::kHlo, printed);
  std::string written = hlo::ModuleToProto(*read->module);
  if (!sound) return;
  Result<hlo::ProtoFile> again = hlo::ReadProto(std::as_bytes(std::span(written)));
  if (!again) Broken("proto: what was written does not read", again.error().message);
  analysis::ModuleComparison same = analysis::CompareModules(*read->module, *again->module);
  if (!same.equal)
    Broken("proto: write and read give another module",
           same.changed.empty() ? "" : same.changed.front().what);
}

void FuzzOpen(std::string_view input) {
  dump::Sniff(input);
  dump::Sniff(input.substr(0, 4096), false);
  (void)hlo::ReadTextProto(input);
}

void FuzzTensor(std::string_view input) {
  Limits limits;
  limits.archive_member_bytes = limits.archive_bytes = 64 << 20;
  Result<dump::NpyArray> array = dump::ReadNpy(input, "input", limits);
  if (array) {
    size_t elements = 1;
    for (int64_t d : array->dimensions) elements *= static_cast<size_t>(d);
    if (array->data.size() != elements * static_cast<size_t>(array->type.bytes)) {
      Broken("tensor", "the data are not what the header declares");
    }
  }
  Result<dump::NpzArchive> archive =
      dump::NpzArchive::Open(FileView::FromBytes("input", std::string(input)), limits);
  if (!archive) return;
  for (const std::string& name : archive->Names()) {
    if (Result<std::string> member = archive->Read(name)) {
      (void)dump::ReadNpy(*member, name, limits);
    }
  }
}

void FuzzEval(std::string_view input) {
  Limits limits;
  limits.interpreter_steps = 2'000'000;
  limits.tensor_bytes = 16 << 20;
  limits.run_deadline_seconds = 1;
  hlo::ParseResult parsed = hlo::ParseText(input, limits);
  if (!parsed.ok() || !Verifies(*parsed.module)) return;
  debug::RunSpec request;
  request.limits = limits;
  request.load.fill_elided = 1;
  debug::RunReport report = debug::RunModule(parsed.module, request);
  bool failed =
      report.status != debug::RunStatus::kRan && report.status != debug::RunStatus::kEqual;
  if (failed && !report.error) Broken("eval", "a run without result or error");
  if (report.error && report.error->error_class == ErrorClass::kInternal) {
    Broken("eval", report.error->message);
  }
}

constexpr TargetRow kTargets[] = {
    {"text", FuzzText, "every error has a place; what verifies prints to the same module"},
    {"proto", FuzzProto, "what verifies is written and read back as the same module"},
    {"open", FuzzOpen, "any bytes are recognised or not"},
    {"tensor", FuzzTensor, "arrays hold what their headers declare"},
    {"eval", FuzzEval, "what verifies runs or says why not"},
    {"image", FuzzImage, "every id of a module that was read leads somewhere", ImageSeed},
    {"trace", FuzzTrace, "any bytes are a trace or an error", TraceSeed},
    {"message", FuzzMessage, "what a worker or its parent sends is read or refused", MessageSeed},
    {"bundle", FuzzBundle, "a bundle is read whole or refused with a reason", BundleSeed},
    {"device", FuzzDevice, "a dump of XLA:GPU runs or says why not, within its memory", DeviceSeed},
    {"export", FuzzExport, "what jax.export wrote is read whole or refused with a reason",
     ExportSeed},
    {"readers", FuzzReaders, "the readers of a dump's files take any bytes"},
};

}  // namespace

std::span<const TargetRow> Targets() { return kTargets; }

}  // namespace hloscope::fuzz
