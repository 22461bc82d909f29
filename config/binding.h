// Binding: a setting of the table tied to its place in Settings or Monitor.
//
// Internal to this folder.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/form.h"
#include "config/schema.h"
#include "config/settings.h"

namespace gapwatch::config {

template <typename Owner>
struct Binding {
  std::string path;  // below the owner
  std::string kind, allowed, help;
  bool required = false;
  bool secret = false;
  std::function<void(const Value&, Owner&)> read;
  std::function<std::optional<std::string>(const Owner&)> show;  // YAML; nothing where it is not set
};

const std::vector<Binding<Settings>>& settings_table();  // without the monitors
const std::vector<Binding<Monitor>>& monitor_table();
const std::vector<Binding<Monitor>>& defaults_table();  // what monitors may have in common

// A binding with reading and showing of its own.
template <typename Owner>
Binding<Owner> custom(std::string path, std::string kind, std::string allowed, std::string help,
                      decltype(Binding<Owner>::read) read = {}, decltype(Binding<Owner>::show) show = {}) {
  return {std::move(path), std::move(kind), std::move(allowed), std::move(help),
          false,           false,           std::move(read),    std::move(show)};
}

// A binding by form and place: `get` gives a pointer to the field of an owner, null where the
// owner has no such field now.
template <typename Owner, typename T, typename Get>
Binding<Owner> bind(std::string path, Form<T> form, Get get, std::string help) {
  auto binding = custom<Owner>(std::move(path), form.kind, form.allowed, std::move(help));
  binding.read = [form, get](const Value& value, Owner& owner) {
    auto read = form.read(value);
    using Field = std::remove_reference_t<decltype(*get(owner))>;
    if (read) *get(owner) = static_cast<Field>(std::move(*read));
  };
  binding.show = [form, get](const Owner& owner) -> std::optional<std::string> {
    const auto* field = get(owner);
    if (field == nullptr) return std::nullopt;
    if constexpr (requires { field->empty(); }) {
      if (field->empty()) return std::nullopt;
    }
    return form.write(static_cast<T>(*field));
  };
  return binding;
}

template <typename T, typename Get>
auto in_settings(std::string path, Form<T> form, Get get, std::string help) {
  return bind<Settings>(std::move(path), std::move(form), get, std::move(help));
}
template <typename Owner>
Binding<Owner> required(Binding<Owner> binding) {
  binding.required = true;
  return binding;
}

// The source's part of settings_table().
void add_source(std::vector<Binding<Settings>>& table);

// What stands in place of a secret.
inline constexpr const char* kHiddenText = "(hidden)";

}  // namespace gapwatch::config
