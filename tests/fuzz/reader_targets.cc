// What the targets of images, traces and dumps do with their input.
#include "tests/fuzz/reader_targets.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/base/gzip.h"
#include "core/base/jobs.h"
#include "core/dump/readers/buffer_reader.h"
#include "core/dump/readers/code_reader.h"
#include "core/dump/readers/elf_reader.h"
#include "core/dump/readers/symbolic_shapes.h"
#include "core/dump/readers/thunk_reader.h"
#include "core/dump/tensorflow/tensorflow_graph.h"
#include "core/hlo/module_image.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/text/text.h"
#include "profiler/event_store.h"
#include "profiler/profile.h"

namespace hloscope::fuzz {
namespace {

constexpr size_t kMaxTraceBytes = 64 << 10;

[[noreturn]] void Broken(const char* what, const std::string& detail) {
  std::fprintf(stderr, "oracle broken: %s: %s\n", what, detail.c_str());
  std::abort();
}

template <typename T>
void CheckError(const char* what, const Result<T>& read) {
  if (!read && read.error().message.empty()) Broken(what, "an error without message");
}

// As images lie in memory that workers share.
std::shared_ptr<const std::byte[]> AlignedCopy(std::string_view input) {
  constexpr std::align_val_t kAlignment{64};
  auto* bytes = static_cast<std::byte*>(::operator new[](input.size() + 1, kAlignment));
  std::memcpy(bytes, input.data(), input.size());
  return {bytes,
          [=](const std::byte* p) { ::operator delete[](const_cast<std::byte*>(p), kAlignment); }};
}

void CheckPlaces(const char* what, const std::vector<dump::CodeFunction>& functions) {
  for (const dump::CodeFunction& function : functions) {
    if (function.first_line < 1 || function.last_line < function.first_line) {
      Broken(what, "a function without lines: " + function.name);
    }
  }
}

}  // namespace

std::string ImageSeed(std::string_view file) {
  if (hlo::ParseResult parsed = hlo::ParseText(file); parsed.ok()) {
    return hlo::ModuleToImage(*parsed.module);
  }
  Result<hlo::ProtoFile> read = hlo::ReadProto(std::as_bytes(std::span(file)));
  return read ? hlo::ModuleToImage(*read->module) : std::string();
}

void FuzzImage(std::string_view input) {
  const auto bytes = AlignedCopy(input);
  const auto module = hlo::ModuleFromImage({bytes.get(), input.size()}, bytes);
  CheckError("image", module);
  if (!module) return;
  // What ids lead to is there, so that walking over everything is safe.
  size_t names = 0;
  for (const hlo::Computation& computation : (*module)->computations()) {
    for (uint32_t i = 0; i < computation.instruction_count; ++i) {
      const hlo::InstructionId id{computation.first_instruction + i};
      names += (*module)->name(id).size();
      for (hlo::InstructionId operand : (*module)->operands(id)) {
        names += (*module)->name(operand).size();
      }
    }
  }
  std::string text;
  hlo::PrintText(**module, hlo::TextFormat::kHlo, text);
  hlo::ModuleToProto(**module);
  const std::string image = hlo::ModuleToImage(**module);
  if (image.empty() && names != 0) Broken("image", "a module without image");
}

std::string TraceSeed(std::string_view file) {
  std::string bytes(file);
  if (IsGzip(file)) {
    Result<ByteBuffer> plain = Gunzip(file, Limits());
    if (!plain) return {};
    bytes = plain->bytes();
  }
  if (!profiler::IsTrace(bytes)) return {};
  bytes.resize(std::min(bytes.size(), kMaxTraceBytes));
  return bytes;
}

void FuzzTrace(std::string_view input) {
  static Jobs jobs(1);
  const auto profile =
      profiler::ReadProfile(FileView::FromBytes("input", std::string(input)), Limits(), jobs);
  CheckError("trace", profile);
  if (profile && (*profile)->store == nullptr) Broken("trace", "a profile without events");
}

void FuzzReaders(std::string_view input) {
  const Limits limits;
  Result<dump::BufferTable> buffers = dump::ReadBufferProto(input, {});
  CheckError("buffer proto", buffers);
  Result<dump::BufferTable> text = dump::ReadBufferText(input);
  CheckError("buffer text", text);
  const dump::LiveRanges live = dump::ReadLiveRanges(input);
  for (Result<dump::BufferTable>* table : {&buffers, &text}) {
    if (!*table) continue;
    dump::ApplyLiveRanges(live, **table);
    dump::FinishBuffers(**table);
  }
  CheckPlaces("ptx", dump::ReadPtx(input));
  CheckPlaces("llvm", dump::ReadLlvm(input, true));
  CheckPlaces("llvm", dump::ReadLlvm(input, false));
  (void)dump::ReadPtxLines(input, 1, 1 << 20);
  (void)dump::ReadLlvmLines(input, 1, 1 << 20);
  CheckError("object", dump::ReadObjectFunctions(input));
  std::vector<std::string> warnings;
  (void)dump::ReadThunkSequence(input, limits, warnings);
  (void)dump::ReadThunkMetadata(input, true, warnings);
  (void)dump::ReadThunkMetadata(input, false, warnings);
  CheckError("tensorflow", dump::ReadTensorFlowGraph(input, limits));
}

std::string ExportSeed(std::string_view file) {
  return dump::LooksLikeJaxExport(file) ? std::string(file) : std::string();
}

void FuzzExport(std::string_view input) {
  (void)dump::LooksLikeJaxExport(input);
  const Result<dump::JaxExport> read = dump::ReadJaxExport(input);
  CheckError("export", read);
  (void)dump::EvaluateDimension(input.substr(0, 64), {});
  if (!read) return;
  std::vector<dump::DimensionVariable> variables;
  for (const std::string& name : dump::DimensionVariablesOf(*read)) variables.push_back({name, 3});
  const auto shapes = dump::ResolveShapes(*read, variables, {});
  CheckError("export", shapes);
  if (shapes && shapes->size() != read->arguments.size()) {
    Broken("export", "an argument without its shape");
  }
}

}  // namespace hloscope::fuzz
