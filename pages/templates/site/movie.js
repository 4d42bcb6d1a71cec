/* Moving pictures of Learn replication: one frame at a time, by hand or by itself. Without this script a page shows every
   frame. A frame stays for as long as its words take to read (data-seconds). Nothing plays before a reader asks. */
for (const movie of document.querySelectorAll(".movie")) {
  const seconds = movie.dataset.seconds.split(",").map(Number), last = seconds.length - 1;
  const button = (name) => movie.querySelector(`[data-do=${name}]`);
  const captions = movie.querySelectorAll(".captions > p"), stage = movie.querySelector(".stage");
  let at = 0, timer = null;

  const show = (index) => {
    at = Math.max(0, Math.min(last, index));
    stage.querySelectorAll("[data-in]").forEach((part) => part.classList.toggle("off", part.dataset.in[at] !== "1"));
    stage.querySelectorAll("[data-at]").forEach((part) => {
      part.style.transform = `translateX(${part.dataset.at.split(",")[at]}px)`;
    });
    captions.forEach((caption, place) => caption.classList.toggle("off", place !== at));
    stage.classList.toggle("instead", captions[at].classList.contains("instead"));
    movie.querySelector(".where").textContent = `${at + 1} of ${last + 1}`;
    button("back").disabled = at === 0;
    button("next").disabled = at === last;
  };
  const pause = () => {
    clearTimeout(timer);
    timer = null;
    button("play").textContent = at === last ? "↻ Play again" : "▶ Play";
  };
  const wait = () => {
    timer = setTimeout(() => { show(at + 1); at === last ? pause() : wait(); }, seconds[at] * 1000);
    button("play").textContent = "❚❚ Pause";
  };
  const step = (by) => { show(at + by); pause(); };
  const play = () => {
    if (timer) { pause(); return; }
    if (at === last) show(0);
    wait();
  };
  const all = () => {
    const every = movie.classList.toggle("every");
    pause();
    button("all").textContent = every ? "Show one frame at a time" : "Show all frames";
    ["back", "next", "play"].forEach((name) => { button(name).hidden = every; });
    movie.querySelector(".where").hidden = every;
  };
  const does = { back: () => step(-1), next: () => step(1), play, all };
  for (const name in does) button(name).addEventListener("click", does[name]);
  movie.addEventListener("keydown", (event) => {
    if (movie.classList.contains("every") || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = { ArrowLeft: "back", ArrowRight: "next" }[event.key] || (event.key === " " && event.target === stage ? "play" : "");
    if (key) { does[key](); event.preventDefault(); }
  });
  stage.tabIndex = 0;
  movie.classList.add("live");
  show(0);
}
