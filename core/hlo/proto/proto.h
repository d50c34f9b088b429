// HLO protos: HloModuleProto, HloProto, HloSnapshot, HloUnoptimizedSnapshot, binary and text. The
// module part is read and written straight between the wire and the IR; unknown fields are kept.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::hlo {

enum class ProtoKind : uint8_t { kModule, kHlo, kSnapshot, kUnoptimizedSnapshot };

// What a proto file holds. `owner` of literals is shared with `bytes` given to the reader where
// they are large.
struct ProtoFile {
  ProtoKind kind = ProtoKind::kModule;
  std::shared_ptr<const Module> module;
  std::string buffer_assignment;  // xla.BufferAssignmentProto in wire format; empty if absent
  std::vector<std::vector<Literal>>
      arguments;                  // one list per partition or run; empty if there are none
  std::optional<Literal> result;  // of a snapshot
  std::string execution_platform;
};

// Which message the bytes are, decided by structure (not by name): nullopt if none fits.
std::optional<ProtoKind> SniffProto(std::span<const std::byte> bytes);

// Reads a file of any of the kinds. `owner`, if given, keeps `bytes` alive so that big literals
// need not be copied.
Result<ProtoFile> ReadProto(std::span<const std::byte> bytes, const Limits& limits = {},
                            std::shared_ptr<const void> owner = nullptr);
Result<ProtoFile> ReadTextProto(std::string_view text, const Limits& limits = {});

// How instructions are numbered in a proto: as they were read, or else as today's XLA numbers them,
// with the computation in the upper half; or in one row over the whole module from 0, which is all
// that XLA read before 2025.
enum class ProtoIds : uint8_t { kOwn, kInOneRow };

// HloModuleProto in wire format, as XLA's HloModule::ToProto writes it, unknown fields added back.
std::string ModuleToProto(const Module& module, ProtoIds ids = ProtoIds::kOwn);
// HloProto holding the module.
std::string HloToProto(const ProtoFile& file);
// HloSnapshot holding the module, the first list of arguments, the result and the platform.
std::string SnapshotToProto(const ProtoFile& file);
std::string HloToTextProto(const ProtoFile& file);

// One xla.LiteralProto, binary.
Result<Literal> LiteralFromProto(std::span<const std::byte> bytes, const Limits& limits = {});
std::string LiteralToProto(const Literal& literal);

// One iteration of a literals file of run_hlo_module (RunHloModuleIterationLiterals).
struct IterationLiterals {
  std::vector<Literal> arguments;  // one per parameter
  std::optional<Literal> result, reference_result;
};

// The iterations in a RunHloModuleLiterals, or the one in a RunHloModuleIterationLiterals, text or
// binary. Input error: neither.
Result<std::vector<IterationLiterals>> ReadRunLiterals(std::string_view bytes,
                                                       const Limits& limits = {});
// RunHloModuleLiterals, binary.
std::string RunLiteralsToProto(std::span<const IterationLiterals> iterations);

}  // namespace hloscope::hlo
