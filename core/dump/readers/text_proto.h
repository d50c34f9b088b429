// TextProto: a protobuf message printed as text, as a tree of fields without its schema.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hloscope::dump {

class TextProto {
 public:
  struct Field {
    std::string_view name;  // "[type.googleapis.com/x.Y]" of an Any, without the brackets
    std::string_view raw;   // of a value: as written, a string with its quotes; of a message empty
    bool is_message = false;
    uint32_t line = 0;
    uint32_t end = 0;  // the fields of a message are those up to here
  };

  // Reads as far as the text is one message, nested at most 100 deep. `text` must outlive it. A
  // text that is cut off gives the complete fields before the cut; why() says where it ends.
  explicit TextProto(std::string_view text);

  // Where reading stopped and what was expected there; empty: it was read to its end.
  const std::string& why() const { return why_; }
  uint32_t why_line() const { return why_line_; }

  // A message: the fields directly in it, in order.
  class Message {
   public:
    // Calls visit(const Field&, Message) for each field; the message of a value is empty.
    template <typename Visit>
    void Each(Visit visit) const {
      for (uint32_t k = begin_; k < end_;) {
        const Field& field = proto_->fields_[k];
        visit(field, Message(proto_, k + 1, field.is_message ? field.end : k + 1));
        k = field.is_message ? field.end : k + 1;
      }
    }
    // The first field of that name: its value or message, or what stands for "absent".
    std::string Text(std::string_view name) const;
    std::optional<int64_t> Int(std::string_view name) const;
    std::optional<double> Float(std::string_view name) const;
    Message Get(std::string_view name) const;
    bool Has(std::string_view name) const { return Find(name) != nullptr; }
    bool empty() const { return begin_ == end_; }

   private:
    friend class TextProto;
    Message(const TextProto* proto, uint32_t begin, uint32_t end)
        : proto_(proto), begin_(begin), end_(end) {}
    const Field* Find(std::string_view name) const;
    const TextProto* proto_;
    uint32_t begin_, end_;
  };
  Message root() const { return {this, 0, static_cast<uint32_t>(fields_.size())}; }

  // The bytes of a string value ("a\n" "b"), other values as they are written.
  static std::string Decode(std::string_view raw);

 private:
  std::vector<Field> fields_;  // a message before its fields
  std::string why_;
  uint32_t why_line_ = 0;
};

}  // namespace hloscope::dump
