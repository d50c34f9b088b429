// Windows, dimension numbers, aliases, statistics and accuracies in protos.
#include "core/hlo/proto/proto_values.h"

#include "core/hlo/proto/proto_fields.h"

namespace hloscope::hlo {
namespace {

Result<WindowDimension> ReadWindowDimension(std::string_view bytes) {
  int64_t v[7];
  if (!ReadIntFields(bytes, v)) return Malformed("WindowDimension");
  return WindowDimension{.size = v[0],
                         .stride = v[1],
                         .padding_low = v[2],
                         .padding_high = v[3],
                         .window_dilation = v[4],
                         .base_dilation = v[5],
                         .window_reversal = v[6] != 0};
}

Result<std::pair<std::string, double>> ReadStatistic(std::string_view bytes) {
  std::pair<std::string, double> statistic;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(StatisticField::kStatName)) statistic.first = field.bytes;
    if (field.tag == AsFixed64(StatisticField::kStatVal)) {
      statistic.second = DoubleFromBits(field.value);
    }
  }
  if (!reader.ok()) return Malformed("Statistic");
  return statistic;
}

}  // namespace

Result<Window> ReadWindow(std::string_view bytes) {
  Window window;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag != AsBytes(WindowField::kDimensions)) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(WindowDimension dimension, ReadWindowDimension(field.bytes));
    window.dimensions.push_back(dimension);
  }
  if (!reader.ok()) return Malformed("Window");
  return window;
}

void WriteWindow(WireWriter& out, const Window& window) {
  using namespace WindowDimensionField;
  for (const WindowDimension& d : window.dimensions) {
    auto mark = out.Open(WindowField::kDimensions);
    out.IntUnlessZero(kSize, d.size);
    out.IntUnlessZero(kStride, d.stride);
    out.IntUnlessZero(kPaddingLow, d.padding_low);
    out.IntUnlessZero(kPaddingHigh, d.padding_high);
    out.IntUnlessZero(kWindowDilation, d.window_dilation);
    out.IntUnlessZero(kBaseDilation, d.base_dilation);
    out.BoolUnlessFalse(kWindowReversal, d.window_reversal);
    out.Close(mark);
  }
}

Result<ConvolutionDims> ReadConvolutionDims(std::string_view bytes) {
  using namespace ConvolutionField;
  ConvolutionDims dims;
  WireReader reader(bytes);
  WireField field;
  bool ok = true;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(kInputBatchDimension)) dims.input_batch = field.AsInt64();
    if (field.tag == AsVarint(kInputFeatureDimension)) dims.input_feature = field.AsInt64();
    if (field.tag == AsVarint(kKernelInputFeatureDimension)) {
      dims.kernel_input_feature = field.AsInt64();
    }
    if (field.tag == AsVarint(kKernelOutputFeatureDimension)) {
      dims.kernel_output_feature = field.AsInt64();
    }
    if (field.tag == AsVarint(kOutputBatchDimension)) dims.output_batch = field.AsInt64();
    if (field.tag == AsVarint(kOutputFeatureDimension)) dims.output_feature = field.AsInt64();
    if (field.number() == kInputSpatialDimensions) ok &= AppendInts(field, dims.input_spatial);
    if (field.number() == kKernelSpatialDimensions) ok &= AppendInts(field, dims.kernel_spatial);
    if (field.number() == kOutputSpatialDimensions) ok &= AppendInts(field, dims.output_spatial);
  }
  if (!ok || !reader.ok()) return Malformed("ConvolutionDimensionNumbers");
  return dims;
}

void WriteConvolutionDims(WireWriter& out, const ConvolutionDims& dims) {
  using namespace ConvolutionField;
  out.IntUnlessZero(kKernelInputFeatureDimension, dims.kernel_input_feature);
  out.IntUnlessZero(kKernelOutputFeatureDimension, dims.kernel_output_feature);
  out.PackedInts(kKernelSpatialDimensions, dims.kernel_spatial);
  out.IntUnlessZero(kInputBatchDimension, dims.input_batch);
  out.IntUnlessZero(kInputFeatureDimension, dims.input_feature);
  out.IntUnlessZero(kOutputBatchDimension, dims.output_batch);
  out.IntUnlessZero(kOutputFeatureDimension, dims.output_feature);
  out.PackedInts(kInputSpatialDimensions, dims.input_spatial);
  out.PackedInts(kOutputSpatialDimensions, dims.output_spatial);
}

Result<std::vector<int64_t>> ReadPadding(std::string_view bytes) {
  std::vector<int64_t> values;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag != AsBytes(PaddingField::kDimensions)) continue;
    int64_t v[3];
    if (!ReadIntFields(field.bytes, v)) return Malformed("PaddingConfigDimension");
    values.insert(values.end(), v, v + 3);
  }
  if (!reader.ok()) return Malformed("PaddingConfig");
  return values;
}

void WritePadding(WireWriter& out, std::span<const int64_t> values) {
  using namespace PaddingDimensionField;
  for (size_t i = 0; i + 2 < values.size(); i += 3) {
    auto mark = out.Open(PaddingField::kDimensions);
    out.IntUnlessZero(kEdgePaddingLow, values[i]);
    out.IntUnlessZero(kEdgePaddingHigh, values[i + 1]);
    out.IntUnlessZero(kInteriorPadding, values[i + 2]);
    out.Close(mark);
  }
}

Result<OutputOperandAlias> ReadOutputOperandAlias(std::string_view bytes) {
  using namespace OutputOperandAliasingField;
  OutputOperandAlias alias;
  WireReader reader(bytes);
  WireField field;
  bool ok = true;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(kOperandIndex)) alias.operand = field.AsInt64();
    if (field.number() == kOutputShapeIndex) ok &= AppendInts(field, alias.output_index);
    if (field.number() == kOperandShapeIndex) ok &= AppendInts(field, alias.operand_index);
  }
  if (!ok || !reader.ok()) return Malformed("OutputOperandAliasing");
  return alias;
}

void WriteOutputOperandAlias(WireWriter& out, const OutputOperandAlias& alias) {
  using namespace OutputOperandAliasingField;
  out.PackedInts(kOutputShapeIndex, alias.output_index);
  out.IntUnlessZero(kOperandIndex, alias.operand);
  out.PackedInts(kOperandShapeIndex, alias.operand_index);
}

Result<Statistics> ReadStatistics(std::string_view bytes) {
  Statistics statistics;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(StatisticsField::kStatIndexToVisualize)) {
      statistics.visualizing_index = field.AsInt64();
    } else if (field.tag == AsBytes(StatisticsField::kStatistics)) {
      HLOSCOPE_ASSIGN_OR_RETURN(auto statistic, ReadStatistic(field.bytes));
      statistics.values.push_back(std::move(statistic));
    }
  }
  if (!reader.ok()) return Malformed("StatisticsViz");
  return statistics;
}

void WriteStatistics(WireWriter& out, const Statistics& statistics) {
  out.IntUnlessZero(StatisticsField::kStatIndexToVisualize, statistics.visualizing_index);
  for (const auto& [name, value] : statistics.values) {
    auto mark = out.Open(StatisticsField::kStatistics);
    out.BytesUnlessEmpty(StatisticField::kStatName, name);
    out.DoubleUnlessZero(StatisticField::kStatVal, value);
    out.Close(mark);
  }
}

Result<ResultAccuracy> ReadResultAccuracy(std::string_view bytes) {
  ResultAccuracy accuracy;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(ResultAccuracyField::kMode)) {
      if (field.value > 1) return InputError("unknown mode of a result accuracy");
      accuracy = {.mode = field.value == 1 ? ResultAccuracy::Mode::kHighest
                                           : ResultAccuracy::Mode::kDefault};
    } else if (field.tag == AsBytes(ResultAccuracyField::kTolerance)) {
      accuracy = {.mode = ResultAccuracy::Mode::kTolerance};
      WireReader tolerance(field.bytes);
      WireField part;
      while (tolerance.Next(part)) {
        if (part.tag == AsFixed64(ToleranceField::kAtol))
          accuracy.atol = DoubleFromBits(part.value);
        if (part.tag == AsFixed64(ToleranceField::kRtol))
          accuracy.rtol = DoubleFromBits(part.value);
        if (part.tag == AsVarint(ToleranceField::kUlps)) accuracy.ulps = part.AsInt64();
      }
      if (!tolerance.ok()) return Malformed("ResultAccuracy.Tolerance");
    }
  }
  if (!reader.ok()) return Malformed("ResultAccuracy");
  return accuracy;
}

void WriteResultAccuracy(WireWriter& out, const ResultAccuracy& accuracy) {
  if (accuracy.mode != ResultAccuracy::Mode::kTolerance) {
    out.Int(ResultAccuracyField::kMode, accuracy.mode == ResultAccuracy::Mode::kHighest ? 1 : 0);
    return;
  }
  auto mark = out.Open(ResultAccuracyField::kTolerance);
  out.DoubleUnlessZero(ToleranceField::kAtol, accuracy.atol);
  out.DoubleUnlessZero(ToleranceField::kRtol, accuracy.rtol);
  out.IntUnlessZero(ToleranceField::kUlps, accuracy.ulps);
  out.Close(mark);
}

}  // namespace hloscope::hlo
