// Protos as text, through protobuf's TextFormat on generated classes and the wire format.
#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include "core/hlo/proto/debug_mark.h"
#include "core/hlo/proto/hlo.pb.h"
#include "core/hlo/proto/proto.h"

namespace hloscope::hlo {
namespace {

// Keeps the first error of a parse.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  // `before`: lines that were passed over.
  explicit FirstError(int before) : before_(before) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (error_) return;
    error_.emplace();
    error_->message = fmt::format("malformed text proto: {}", message);
    error_->place.line = static_cast<uint32_t>(before_ + line + 1);
    error_->place.column = static_cast<uint32_t>(column + 1);
  }
  Error error() const {
    return error_.value_or(Error{ErrorClass::kInput, "malformed text proto", {}, {}});
  }

 private:
  int before_;
  std::optional<Error> error_;
};

bool IsBefore(const Place& a, const Place& b) {
  return std::pair(a.line, a.column) < std::pair(b.line, b.column);
}

bool Parse(std::string_view text, const Limits& limits, google::protobuf::Message& message,
           FirstError& error) {
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(static_cast<int>(limits.proto_nesting));
  return parser.Parse(&input, &message);
}

Result<ProtoFile> ReadMessage(const google::protobuf::Message& message, const Limits& limits) {
  // Literals may point into the bytes, so they live as long as the module.
  auto bytes = std::make_shared<std::string>();
  if (!message.SerializePartialToString(bytes.get())) {
    return InputError("the text proto is larger than 2 GiB");
  }
  return ReadProto(std::as_bytes(std::span(*bytes)), limits, bytes);
}

}  // namespace

Result<ProtoFile> ReadTextProto(std::string_view text, const Limits& limits) {
  constexpr size_t kMaxBytes = 0x7fffffff;
  if (text.size() > kMaxBytes) return InputError("the text proto is larger than 2 GiB");
  const std::string_view mark = text.substr(0, DebugMarkLength(text));
  text.remove_prefix(mark.size());
  const int lines = static_cast<int>(std::ranges::count(mark, '\n'));
  proto::HloModuleProto module;
  proto::HloProto hlo;
  proto::HloSnapshot snapshot;
  proto::HloUnoptimizedSnapshot unoptimized;
  google::protobuf::Message* const messages[] = {&module, &hlo, &snapshot, &unoptimized};
  // The message that is understood furthest says what is wrong.
  std::optional<Error> furthest;
  for (google::protobuf::Message* message : messages) {
    FirstError error(lines);
    if (Parse(text, limits, *message, error)) return ReadMessage(*message, limits);
    if (!furthest || IsBefore(furthest->place, error.error().place)) furthest = error.error();
    message->Clear();
  }
  return std::unexpected(*std::move(furthest));
}

std::string HloToTextProto(const ProtoFile& file) {
  std::string text;
  proto::HloProto hlo;
  proto::HloSnapshot snapshot;
  google::protobuf::Message* message = &hlo;
  if (file.kind == ProtoKind::kSnapshot) {
    message = &snapshot;
    snapshot.ParsePartialFromString(SnapshotToProto(file));
  } else {
    hlo.ParsePartialFromString(HloToProto(file));
  }
  google::protobuf::TextFormat::PrintToString(*message, &text);
  return text;
}

}  // namespace hloscope::hlo
