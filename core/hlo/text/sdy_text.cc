// A reader of the small part of Shardy's syntax that manual regions need.
#include "core/hlo/text/sdy_text.h"

#include <map>

#include "core/hlo/text/text_cursor.h"

namespace hloscope::hlo {
namespace {

// Some writers leave the quotes escaped.
std::string WithPlainQuotes(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\\\"")) {
      ++i;
      result += '"';
    } else if (text.substr(i).starts_with("\\22")) {
      i += 2;
      result += '"';
    } else {
      result += text[i];
    }
  }
  return result;
}

class SdyReader {
 public:
  SdyReader(std::string_view text, const std::map<std::string, Mesh>* meshes)
      : cursor_(text), meshes_(meshes) {}

  // `{mesh = #sdy.mesh<["x"=4]>, other = …}`
  std::optional<std::map<std::string, Mesh>> ReadMeshes() {
    std::map<std::string, Mesh> meshes;
    if (!cursor_.Consume('{')) return std::nullopt;
    while (!cursor_.Consume('}')) {
      const auto quoted = cursor_.Peek() == '"' ? cursor_.ReadString() : std::nullopt;
      const std::string name = quoted ? *quoted : std::string(cursor_.ReadIdentifier());
      if (name.empty() || !cursor_.Consume('=')) return std::nullopt;
      auto mesh = ReadMesh();
      if (!mesh) return std::nullopt;
      meshes.emplace(name, *std::move(mesh));
      cursor_.Consume(',');
    }
    return meshes;
  }

  std::optional<std::vector<Sharding>> ReadShardings() {
    cursor_.Consume('#');
    const std::string_view kind = cursor_.ReadIdentifier();
    std::vector<Sharding> shardings;
    if (kind == "sdy.sharding") {
      auto one = ReadSharding();
      if (!one) return std::nullopt;
      shardings.push_back(*std::move(one));
      return shardings;
    }
    if (kind != "sdy.sharding_per_value" || !cursor_.Consume('<') || !cursor_.Consume('[')) {
      return std::nullopt;
    }
    while (!cursor_.Consume(']')) {
      auto one = ReadSharding();
      if (!one) return std::nullopt;
      shardings.push_back(*std::move(one));
      cursor_.Consume(',');
    }
    return shardings;
  }

 private:
  // `#sdy.mesh<["x"=4, "y"=2], device_ids=[1, 0]>`, also without what stands before `<`
  std::optional<Mesh> ReadMesh() {
    cursor_.Consume('#');
    cursor_.ReadIdentifier();
    Mesh mesh;
    if (!cursor_.Consume('<') || !cursor_.Consume('[')) return std::nullopt;
    while (!cursor_.Consume(']')) {
      const auto name = cursor_.ReadString();
      if (!name || !cursor_.Consume('=')) return std::nullopt;
      const auto size = cursor_.ReadInt();
      if (!size) return std::nullopt;
      mesh.axes.emplace_back(*name, *size);
      cursor_.Consume(',');
    }
    if (cursor_.Consume(',') && cursor_.ReadIdentifier() == "device_ids") {
      if (!cursor_.Consume('=') || !cursor_.Consume('[')) return std::nullopt;
      while (const auto id = cursor_.ReadInt()) {
        mesh.device_ids.push_back(*id);
        cursor_.Consume(',');
      }
      if (!cursor_.Consume(']')) return std::nullopt;
    }
    mesh.maximal = mesh.axes.empty();
    if (!cursor_.Consume('>')) return std::nullopt;
    return mesh;
  }

  // `<@mesh, [{"x"}, {"y", ?}p0, {}], replicated={"z"}, unreduced={"w"}>`
  std::optional<Sharding> ReadSharding() {
    Sharding sharding;
    sharding.kind = ShardingKind::kNamed;
    if (!cursor_.Consume('<')) return std::nullopt;
    if (cursor_.Consume('@')) {
      const std::string name(cursor_.ReadIdentifier());
      const auto at = meshes_->find(name);
      if (at == meshes_->end()) return std::nullopt;
      sharding.mesh = at->second;
    } else {
      auto mesh = ReadMesh();
      if (!mesh) return std::nullopt;
      sharding.mesh = *std::move(mesh);
    }
    if (!cursor_.Consume(',') || !cursor_.Consume('[')) return std::nullopt;
    while (!cursor_.Consume(']')) {
      auto dimension = ReadAxes(sharding.mesh);
      if (!dimension) return std::nullopt;
      sharding.dimensions.push_back(*std::move(dimension));
      cursor_.ReadIdentifier();  // the priority
      cursor_.Consume(',');
    }
    while (cursor_.Consume(',')) {
      const std::string_view key = cursor_.ReadIdentifier();
      if (!cursor_.Consume('=')) return std::nullopt;
      auto axes = ReadAxes(sharding.mesh);
      if (!axes) return std::nullopt;
      (key == "unreduced" ? sharding.unreduced_axes : sharding.replicated_axes) = axes->axes;
    }
    if (!cursor_.Consume('>')) return std::nullopt;
    return sharding;
  }

  // `{"x", "y":(1)2, ?}`
  std::optional<DimensionSharding> ReadAxes(const Mesh& mesh) {
    DimensionSharding result;
    if (!cursor_.Consume('{')) return std::nullopt;
    while (!cursor_.Consume('}')) {
      if (cursor_.Consume('?')) {
        result.is_closed = false;
        continue;
      }
      const auto name = cursor_.ReadString();
      if (!name) return std::nullopt;
      AxisRef ref;
      while (static_cast<size_t>(ref.axis) < mesh.axes.size() &&
             mesh.axes[static_cast<size_t>(ref.axis)].first != *name) {
        ++ref.axis;
      }
      if (static_cast<size_t>(ref.axis) == mesh.axes.size()) return std::nullopt;
      if (cursor_.Consume(':')) {
        const bool open = cursor_.Consume('(');
        const auto before = cursor_.ReadInt();
        const bool close = cursor_.Consume(')');
        const auto size = cursor_.ReadInt();
        if (!open || !before || !close || !size || *size < 1) return std::nullopt;
        ref.pre_size = *before;
        ref.size = *size;
      }
      result.axes.push_back(ref);
      cursor_.Consume(',');
    }
    return result;
  }

  TextCursor cursor_;
  const std::map<std::string, Mesh>* meshes_;
};

}  // namespace

std::optional<std::vector<Sharding>> ReadSdyShardings(const Module& module, std::string_view text) {
  std::map<std::string, Mesh> meshes;
  for (const FrontendAttribute& entry : module.header().frontend_attributes.entries) {
    if (module[entry.key] != "xla.sdy.meshes") continue;
    const std::string plain = WithPlainQuotes(module[entry.value]);
    auto read = SdyReader(plain, nullptr).ReadMeshes();
    if (!read) return std::nullopt;
    meshes = *std::move(read);
  }
  const std::string plain = WithPlainQuotes(text);
  return SdyReader(plain, &meshes).ReadShardings();
}

std::optional<std::vector<std::string>> ReadSdyAxes(std::string_view text) {
  const std::string plain = WithPlainQuotes(text);
  const size_t open = plain.find('{');
  if (open == std::string::npos) return std::nullopt;
  TextCursor cursor(std::string_view(plain).substr(open + 1));
  std::vector<std::string> names;
  while (!cursor.Consume('}')) {
    auto name = cursor.ReadString();
    if (!name) return std::nullopt;
    names.push_back(*std::move(name));
    cursor.Consume(',');
  }
  return names;
}

}  // namespace hloscope::hlo
