// Values of a module read from protos and written to them. A reader takes the bytes of one message;
// a writer appends the fields of one, into a message the caller opened. Readers fail with input
// errors.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/attribute.h"
#include "core/hlo/literal.h"
#include "core/hlo/proto/wire_reader.h"
#include "core/hlo/proto/wire_writer.h"
#include "core/hlo/shape.h"

namespace hloscope::hlo {

// The error of a message that is cut off or not in wire format.
std::unexpected<Error> Malformed(std::string_view message);
// Fails if `depth` messages inside one another are beyond the limit.
Status CheckDepth(int64_t depth, const Limits& limits);

Result<Shape> ReadShape(std::string_view bytes, const Limits& limits, int64_t depth = 0);
// Arrays without a layout get the default one, as every shape of XLA has one.
void WriteShape(WireWriter& out, const Shape& shape);

// Elements in row-major order; `owner`, if given, keeps `bytes` alive for large values. A value
// without elements where there should be some is elided.
Result<Literal> ReadLiteral(std::string_view bytes, const Limits& limits,
                            const std::shared_ptr<const void>& owner, int64_t depth = 0);
void WriteLiteral(WireWriter& out, const Literal& literal);
// A literal in XLA's own form (LiteralBase::Serialize) for values beyond the 2 GiB of a proto: the
// size of a ShapeProto (int64), the ShapeProto, then for every array its live sizes where it is
// dynamic and its elements, narrow ones packed.
Result<Literal> ReadSerializedLiteral(std::string_view bytes, const Limits& limits,
                                      const std::shared_ptr<const void>& owner);

Result<Sharding> ReadSharding(std::string_view bytes, const Limits& limits, int64_t depth = 0);
void WriteSharding(WireWriter& out, const Sharding& sharding);
Result<Mesh> ReadMesh(std::string_view bytes);
void WriteMesh(WireWriter& out, const Mesh& mesh);
// Reads one AxisRefProto.
Status AppendAxisRef(std::vector<AxisRef>& axes, std::string_view bytes);
void WriteAxisRefs(WireWriter& out, uint32_t number, const std::vector<AxisRef>& axes);

// An identity transpose is kept as none, as texts write it, and written out in full.
void NormalizeIota(IotaTile& iota);
std::vector<int64_t> FullTranspose(const IotaTile& iota);

Result<Window> ReadWindow(std::string_view bytes);
void WriteWindow(WireWriter& out, const Window& window);
Result<ConvolutionDims> ReadConvolutionDims(std::string_view bytes);
void WriteConvolutionDims(WireWriter& out, const ConvolutionDims& dims);
// Low, high and interior padding of each dimension.
Result<std::vector<int64_t>> ReadPadding(std::string_view bytes);
void WritePadding(WireWriter& out, std::span<const int64_t> values);
// The first `N` integer fields of a message (1, 2, … N), 0 where absent.
template <size_t N>
bool ReadIntFields(std::string_view bytes, int64_t (&values)[N]) {
  for (int64_t& v : values) v = 0;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if ((field.tag & 7) == 0 && field.number() <= N) values[field.number() - 1] = field.AsInt64();
  }
  return reader.ok();
}
Result<OutputOperandAlias> ReadOutputOperandAlias(std::string_view bytes);
void WriteOutputOperandAlias(WireWriter& out, const OutputOperandAlias& alias);
Result<Statistics> ReadStatistics(std::string_view bytes);
void WriteStatistics(WireWriter& out, const Statistics& statistics);
// `is_tuple`: the shape the value belongs to is a tuple, which no element of an empty one tells.
Result<OriginalValue> ReadOriginalValue(std::string_view bytes, bool is_tuple,
                                        const Limits& limits);
void WriteOriginalValue(WireWriter& out, const OriginalValue& value);
Result<ResultAccuracy> ReadResultAccuracy(std::string_view bytes);
void WriteResultAccuracy(WireWriter& out, const ResultAccuracy& accuracy);
Result<OriginalArray> ReadOriginalArray(std::string_view bytes);
void WriteOriginalArray(WireWriter& out, uint32_t number, const OriginalArray& array);

// `[4,2]<=[8]`-like and listed device groups, from the message of each form.
Result<DeviceList> ReadGroups(std::string_view bytes);
Result<DeviceList> ReadIotaDeviceList(std::string_view bytes);
Result<DeviceList> ReadMeshDeviceList(std::string_view bytes);
// Writes the whole field: its number depends on the form.
void WriteDeviceList(WireWriter& out, const DeviceList& list);
// One ReplicaGroup.
Result<std::vector<int64_t>> ReadGroup(std::string_view bytes);

// sparsity_config as text, `{lhs={sparsity=1x4 dimension=1 stride=1}}`; empty for the empty
// message.
Result<std::string> ReadSparsityText(std::string_view bytes);
// Understands what ReadSparsityText gives; other text writes nothing.
void WriteSparsityText(WireWriter& out, std::string_view text);

// xla.OpMetadata as the text between the braces of `metadata={…}`, and back.
Result<std::string> ReadMetadataText(std::string_view bytes);
void WriteMetadataText(WireWriter& out, std::string_view text);

}  // namespace hloscope::hlo
