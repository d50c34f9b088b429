// Module images: a module as bytes, for another process of the same build. Everything is kept, ids
// and the order of instructions included, which neither the text nor the proto form does (texts
// have no proto ids and unknown fields; protos have no unknown attributes, refuse names that occur
// twice and come back in another order).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/base/byte_archive.h"
#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::hlo {

std::string ModuleToImage(const Module& module);

// The module in an image. Large constants stay views of `bytes`, which `owner` keeps. Input error:
// the image is cut off, or an id in it leads nowhere. Never for files: nothing else is verified.
Result<std::shared_ptr<const Module>> ModuleFromImage(std::span<const std::byte> bytes,
                                                      std::shared_ptr<const void> owner);

// A shape on its own. Reading fails the archive where the shape could not be one.
void Archive(ByteWriter& out, const Shape& shape);
void Archive(ByteReader& in, Shape& shape);
// Likewise a value, but for the bytes of its arrays.
using PutBytes = std::function<void(std::span<const std::byte>)>;
void WriteLiteral(ByteWriter& out, const Literal& literal, const PutBytes& put);
// Gives the next array, of that shape and so many bytes; nullopt where there are not so many.
using GetArray = std::function<std::optional<Literal>(const Shape& shape, uint64_t size)>;
Literal ReadLiteral(ByteReader& in, const GetArray& get);
// Likewise a value with its bytes, which begin at a multiple of 16.
void Archive(ByteWriter& out, const Literal& literal);
void Archive(ByteReader& in, Literal& literal);

}  // namespace hloscope::hlo
