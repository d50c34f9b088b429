// What the tests of protos share: a module with something of everything, and short ways to bytes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/hlo/proto/hlo.pb.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/text/text.h"

namespace hloscope::hlo {

inline std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::shared_ptr<const Module> Parsed(std::string_view text) {
  ParseResult result = ParseText(text);
  return result.module;
}

inline std::string Printed(const Module& module) {
  std::string text;
  PrintText(module, TextFormat::kHlo, text);
  return text;
}

// A message of the generated classes, and back to bytes.
inline proto::HloModuleProto ToMessage(const std::string& bytes) {
  proto::HloModuleProto message;
  message.ParseFromString(bytes);
  return message;
}

inline constexpr std::string_view kRichModule =
    R"(HloModule rich, is_scheduled=true, input_output_alias={ {0}: (0, {}, must-alias) }, buffer_donor={ (1, {}) }, frontend_attributes={a="b"}

%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y)
}

%cond (p: (s32[], f32[4])) -> pred[] {
  %p = (s32[], f32[4]{0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %n = s32[] constant(10)
  ROOT %less = pred[] compare(%i, %n), direction=LT
}

%body (q: (s32[], f32[4])) -> (s32[], f32[4]) {
  %q = (s32[], f32[4]{0}) parameter(0)
  %j = s32[] get-tuple-element(%q), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%j, %one)
  %v = f32[4]{0} get-tuple-element(%q), index=1
  %w = f32[4]{0} negate(%v), control-predecessors={%next}
  ROOT %t = (s32[], f32[4]{0}) tuple(%next, %w)
}

ENTRY %main (a: f32[4,8], b: f32[8,16]) -> (f32[4,16], f32[4]) {
  %a = f32[4,8]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}, parameter_replication={true}
  %b = f32[8,16]{0,1:T(8,128)S(1)} parameter(1)
  %dot = f32[4,16]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,default}, metadata={op_type="dot" op_name="net/dot" source_file="a.py" source_line=3}
  %zero = f32[] constant(0)
  %reduced = f32[4]{0} reduce(%a, %zero), dimensions={1}, to_apply=%add
  %all = f32[4]{0} all-reduce(%reduced), channel_id=7, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=%add
  %sliced = f32[2]{0} slice(%all), slice={[0:4:2]}
  %low = f32[] constant(1.5)
  %padded = f32[4]{0} pad(%sliced, %low), padding=0_2
  %call = f32[4]{0} custom-call(%padded), custom_call_target="Thing", custom_call_has_side_effect=true, api_version=API_VERSION_TYPED_FFI, frontend_attributes={x="y",z="w"}, backend_config={"k":[1,2]}
  %start = s32[] constant(-3)
  %init = (s32[], f32[4]{0}) tuple(%start, %call)
  %loop = (s32[], f32[4]{0}) while(%init), condition=%cond, body=%body, backend_config="opaque \"text\""
  %out = f32[4]{0} get-tuple-element(%loop), index=1
  %iota = s32[4]{0} iota(), iota_dimension=0
  %table = s4[2,2]{0,1} constant({ { 1, -2 }, { 3, -4 } })
  ROOT %result = (f32[4,16]{1,0}, f32[4]{0}) tuple(%dot, %out)
}
)";

}  // namespace hloscope::hlo
