// xla.OpMetadata of instructions in protos.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/hlo/module_builder.h"
#include "core/hlo/proto/proto_values.h"

namespace hloscope::hlo {

// The bytes of a Payload message: its own, or those of `payloads` it names by number.
Result<std::string_view> ReadPayload(std::string_view bytes,
                                     std::span<const std::string_view> payloads);

// Reads one OpMetadata, interning its strings. Fields a module has no place for go to `unknown`, in
// wire format.
Result<OpMetadata> ReadMetadata(std::string_view bytes, ModuleBuilder& builder,
                                std::span<const std::string_view> payloads, std::string& unknown);
void WriteMetadata(WireWriter& out, const Module& module, const OpMetadata& metadata);

}  // namespace hloscope::hlo
