// Sends on the token that an application has put into the fragment of the address, and takes it out of there.
"use strict";
const handed = new URLSearchParams(location.hash.slice(1));
const form = document.getElementById("token");
const field = form.elements.token;
history.replaceState(null, "", location.pathname + location.search);
const name = ["token", "error"].find((one) => handed.get(one));
if (name) {
  field.name = name;
  field.value = handed.get(name);
  form.submit();
}
