#include "onnx_file.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <optional>
#include <stdexcept>

#include "protobuf_reader.h"

namespace dtrain {
namespace {

[[noreturn]] void refuse(const char* message, const ProtobufField& field) {
  throw std::runtime_error(fmt::format("ONNX: dtrain writes no field {} of {}", field.number(), message));
}

void require_that(bool holds, const std::string& problem) {
  if (!holds) throw std::runtime_error("ONNX: " + problem);
}

std::pair<std::string, OnnxAttribute> read_attribute(const std::string& bytes) {
  std::string name;
  std::optional<float> single;
  std::optional<int64_t> integer;
  std::vector<int64_t> integers;
  int64_t type = 0;
  for (const ProtobufField& field : protobuf_fields(bytes)) {
    switch (field.number()) {
      case 1:
        name = field.as_bytes();
        break;
      case 2:
        single = field.as_float();
        break;
      case 3:
        integer = field.as_integer();
        break;
      case 8:
        integers.push_back(field.as_integer());
        break;
      case 20:
        type = field.as_integer();
        break;
      default:
        refuse("AttributeProto", field);
    }
  }
  // One value, of the kind that the type says: FLOAT, INT or INTS.
  const bool one = int{single.has_value()} + int{integer.has_value()} + int{!integers.empty()} == 1;
  if (one && type == 1 && single) return {name, *single};
  if (one && type == 2 && integer) return {name, *integer};
  if (one && type == 7 && !integers.empty()) return {name, integers};
  throw std::runtime_error("ONNX: attribute " + name + " is not of its type");
}

OnnxNode read_node(const std::string& bytes) {
  OnnxNode node;
  for (const ProtobufField& field : protobuf_fields(bytes)) {
    switch (field.number()) {
      case 1:
        node.inputs.push_back(field.as_bytes());
        break;
      case 2:
        node.outputs.push_back(field.as_bytes());
        break;
      case 3:
        node.name = field.as_bytes();
        break;
      case 4:
        node.kind = field.as_bytes();
        break;
      case 5:
        require_that(node.attributes.insert(read_attribute(field.as_bytes())).second, "an attribute twice");
        break;
      default:
        refuse("NodeProto", field);
    }
  }
  return node;
}

// TensorProto.DataType.
at::ScalarType read_type(const ProtobufField& field) {
  const int64_t type = field.as_integer();
  require_that(type == 1 || type == 2 || type == 7 || type == 11, "neither float, uint8, int64 nor double");
  return type == 1 ? at::kFloat : type == 2 ? at::kByte : type == 7 ? at::kLong : at::kDouble;
}

std::pair<std::string, at::Tensor> read_tensor(const std::string& bytes) {
  std::string name, data;
  std::vector<int64_t> sizes;
  std::optional<at::ScalarType> type;
  for (const ProtobufField& field : protobuf_fields(bytes)) {
    switch (field.number()) {
      case 1:
        sizes.push_back(field.as_integer());
        break;
      case 2:
        type = read_type(field);
        break;
      case 8:
        name = field.as_bytes();
        break;
      case 9:
        data = field.as_bytes();
        break;
      default:
        refuse("TensorProto", field);
    }
  }
  require_that(type.has_value(), name + " is of no type");
  // More than there are bytes would not fit, and could be more than there is memory.
  uint64_t elements = 1;
  for (const int64_t size : sizes) {
    require_that(size >= 0 && static_cast<uint64_t>(size) <= data.size(), name + " has no such size");
    elements *= static_cast<uint64_t>(size);
    require_that(elements <= data.size(), name + " has fewer bytes than elements");
  }
  at::Tensor tensor = at::empty(sizes, *type);
  require_that(tensor.nbytes() == data.size(), name + " has not the bytes of its sizes");
  std::memcpy(tensor.mutable_data_ptr(), data.data(), data.size());
  return {name, tensor};
}

std::string read_dimension(const std::string& bytes) {
  const std::vector<ProtobufField> fields = protobuf_fields(bytes);
  require_that(fields.size() == 1, "a dimension has a number or a name");
  switch (fields[0].number()) {
    case 1:
      return std::to_string(fields[0].as_integer());
    case 2:
      return fields[0].as_bytes();
    default:
      refuse("TensorShapeProto.Dimension", fields[0]);
  }
}

// TypeProto, which has one field, the type of a tensor.
void read_tensor_type(const std::string& bytes, OnnxValue& value) {
  const std::vector<ProtobufField> types = protobuf_fields(bytes);
  require_that(types.size() == 1 && types[0].number() == 1, "a value that is no tensor");
  for (const ProtobufField& field : protobuf_fields(types[0].as_bytes())) {
    switch (field.number()) {
      case 1:
        value.type = read_type(field);
        break;
      case 2:
        for (const ProtobufField& dimension : protobuf_fields(field.as_bytes())) {
          if (dimension.number() != 1) refuse("TensorShapeProto", dimension);
          value.shape.push_back(read_dimension(dimension.as_bytes()));
        }
        break;
      default:
        refuse("TypeProto.Tensor", field);
    }
  }
}

OnnxValue read_value(const std::string& bytes) {
  OnnxValue value;
  for (const ProtobufField& field : protobuf_fields(bytes)) {
    switch (field.number()) {
      case 1:
        value.name = field.as_bytes();
        break;
      case 2:
        read_tensor_type(field.as_bytes(), value);
        break;
      default:
        refuse("ValueInfoProto", field);
    }
  }
  return value;
}

void read_graph(const std::string& bytes, OnnxModel& model) {
  for (const ProtobufField& field : protobuf_fields(bytes)) {
    switch (field.number()) {
      case 1:
        model.nodes.push_back(read_node(field.as_bytes()));
        break;
      case 2:
        model.name = field.as_bytes();
        break;
      case 5:
        require_that(model.initializers.insert(read_tensor(field.as_bytes())).second, "a tensor twice");
        break;
      case 11:
        model.inputs.push_back(read_value(field.as_bytes()));
        break;
      case 12:
        model.outputs.push_back(read_value(field.as_bytes()));
        break;
      default:
        refuse("GraphProto", field);
    }
  }
}

// OperatorSetIdProto; without a domain it is of ONNX itself.
int64_t read_opset(const std::string& bytes) {
  const std::vector<ProtobufField> fields = protobuf_fields(bytes);
  require_that(fields.size() == 1 && fields[0].number() == 2, "operators of another domain");
  return fields[0].as_integer();
}

// StringStringEntryProto.
std::pair<std::string, std::string> read_property(const std::string& bytes) {
  const std::vector<ProtobufField> fields = protobuf_fields(bytes);
  require_that(fields.size() == 2 && fields[0].number() == 1 && fields[1].number() == 2,
               "no key with a value");
  return {fields[0].as_bytes(), fields[1].as_bytes()};
}

std::string attribute_text(const OnnxAttribute& attribute) {
  if (const auto* integer = std::get_if<int64_t>(&attribute)) return std::to_string(*integer);
  if (const auto* single = std::get_if<float>(&attribute)) return fmt::format("{}f", *single);
  return fmt::format("[{}]", fmt::join(std::get<std::vector<int64_t>>(attribute), ", "));
}

std::string value_text(const OnnxValue& value) {
  return fmt::format("{}: {} [{}]\n", value.name, c10::toString(value.type), fmt::join(value.shape, ", "));
}

}  // namespace

OnnxModel read_onnx(const std::string& bytes) {
  OnnxModel model;
  int graphs = 0;
  for (const ProtobufField& field : protobuf_fields(bytes)) {
    switch (field.number()) {
      case 1:
        model.ir_version = field.as_integer();
        break;
      case 2:
        model.producer = field.as_bytes();
        break;
      case 3:
        model.producer_version = field.as_bytes();
        break;
      case 7:
        read_graph(field.as_bytes(), model), ++graphs;
        break;
      case 8:
        model.opset = read_opset(field.as_bytes());
        break;
      case 14:
        require_that(model.metadata.insert(read_property(field.as_bytes())).second, "a property twice");
        break;
      default:
        refuse("ModelProto", field);
    }
  }
  require_that(graphs == 1 && model.ir_version > 0 && model.opset > 0, "no whole model");
  return model;
}

std::string onnx_operator(const OnnxNode& node) {
  std::string text = node.kind;
  for (const auto& [name, value] : node.attributes) text += " " + name + "=" + attribute_text(value);
  return text;
}

std::string onnx_text(const OnnxModel& model) {
  std::string text;
  for (const OnnxValue& input : model.inputs) text += value_text(input);
  for (const OnnxNode& node : model.nodes) {
    text += fmt::format("{} = {} ({})\n", fmt::join(node.outputs, ", "), onnx_operator(node),
                        fmt::join(node.inputs, ", "));
  }
  for (const OnnxValue& output : model.outputs) text += value_text(output);
  return text;
}

}  // namespace dtrain
