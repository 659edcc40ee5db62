"""Pages of people, projects, members and keys."""

from django.urls import include, path

from runs.accounts.views import connect, keys, members, person, projects, redaction, sign_in

app_name = "accounts"

project_pages = [
    path("", projects.open_project, name="project"),
    path("/settings", projects.settings_page, name="settings"),
    path("/settings/remove", projects.remove, name="remove-project"),
    path("/settings/remove-demo", projects.remove_demo, name="remove-demo"),
    path("/settings/redaction", redaction.rules, name="redaction"),
    path("/settings/redaction/remove", redaction.remove, name="remove-redaction"),
    path("/members", members.member_list, name="members"),
    path("/members/invites", members.invite, name="invite"),
    path("/members/invites/<int:link_id>/revoke", members.revoke_invite, name="revoke-invite"),
    path("/members/<int:member_id>/role", members.change_role, name="member-role"),
    path("/members/<int:member_id>/remove", members.remove, name="remove-member"),
    path("/leave", members.leave, name="leave"),
    path("/keys", keys.key_list, name="keys"),
    path("/keys/<int:key_id>/revoke", keys.revoke, name="revoke-key"),
    path("/connect", connect.connect, name="connect"),
    path("/connect/first-run", connect.first_run, name="first-run"),
]

urlpatterns = [
    path("", sign_in.home, name="home"),
    path("sign-in", sign_in.sign_in, name="sign-in"),
    path("sign-in/<str:token>", sign_in.sign_in_link, name="sign-in-link"),
    path("sign-out", sign_in.sign_out, name="sign-out"),
    path("join/<str:token>", members.join, name="join"),
    path("account", person.account, name="account"),
    path("account/password", person.password, name="password"),
    path("projects", projects.project_list, name="projects"),
    path("p/<slug:slug>", include(project_pages)),
]
