/* The Atlas: the choice of a client and of settings stands in the address, as #java,acks-1, so that it can be sent to
   somebody. Links to other versions take it along. Without this script a page shows the default of its release. */
const chosen = () => [...document.querySelectorAll(".pick > input[type=radio]:checked")].map((one) => one.id.slice(2));
const others = document.querySelectorAll(".versions a, .pager a");

const choose = () => {
  for (const name of location.hash.slice(1).split(",")) {
    const found = document.getElementById(`k-${name}`) ?? document.getElementById(`p-${name}`);
    if (found) found.checked = true;
  }
};
const carry = () => others.forEach((link) => { link.hash = chosen().join(","); });

choose();
carry();
addEventListener("hashchange", () => { choose(); carry(); });
document.querySelector(".pick").addEventListener("change", (event) => {
  if (event.target.type !== "radio") return;
  history.replaceState(null, "", `#${chosen().join(",")}`);
  carry();
});
